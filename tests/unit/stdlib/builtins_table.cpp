// The table of builtins as a whole: well formed, and found by name.
#include "stdlib/builtins.hpp"

#include <string_view>

#include "tests/unit/catch.hpp"

using talc::stdlib::builtin_table;
using talc::vm::NativeRow;

namespace {

std::span<const NativeRow> all_rows() { return {builtin_table().rows, builtin_table().count}; }

}  // namespace

TEST_CASE("each builtin has a signature, a doc and a function", "[stdlib]") {
    for (const NativeRow& row : all_rows()) {
        INFO(row.owner << "." << row.name);
        std::string_view signature = row.signature;
        for (std::string_view prefix : {"static ", "class ", "property "}) {
            if (signature.starts_with(prefix)) signature.remove_prefix(prefix.size());
        }
        CHECK(signature.starts_with("("));
        CHECK(signature.ends_with(")"));
        CHECK(row.fn != nullptr);
        CHECK_FALSE(std::string_view(row.doc).empty());
        // What changes something happens each time that a trace runs: it cannot be folded away.
        if (row.effect == talc::vm::Effect::effect) CHECK(row.record != talc::vm::Record::inlined);
    }
}

TEST_CASE("builtins are found by owner and name", "[stdlib]") {
    const talc::vm::BuiltinTable& table = builtin_table();
    for (const NativeRow& row : all_rows()) CHECK(table.find(row.owner, row.name) == &row);
    CHECK(table.find("str", "nothing") == nullptr);
    CHECK(table.find("nothing", "upper") == nullptr);
    CHECK(table.rows_of("nothing").empty());
    size_t strings = 0;
    for (const NativeRow& row : table.rows_of("str")) strings += std::string_view(row.owner) == "str";
    CHECK(strings == table.rows_of("str").size());
    CHECK(strings > 60);
}
