#include "stdlib/builtins.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "stdlib/modules.hpp"

namespace talc::stdlib {

namespace {

using vm::Effect;
using vm::NativeRow;
using vm::Record;

constexpr NativeRow kWritten[] = {
#define ROW(owner, name, signature, effect, record, function, doc) \
    {owner, name, signature, Effect::effect, Record::record, function, doc},
#include "stdlib/builtins.def"
#undef ROW
};
constexpr size_t kCount = std::size(kWritten);

constexpr bool before(const NativeRow& a, const NativeRow& b) {
    std::string_view owner_a = a.owner, owner_b = b.owner;
    return owner_a != owner_b ? owner_a < owner_b : std::string_view(a.name) < std::string_view(b.name);
}

// Sorted while compiling: a class is filled, and a name found, without any work at start-up.
constexpr std::array<NativeRow, kCount> sorted_rows() {
    std::array<NativeRow, kCount> rows{};
    std::copy(std::begin(kWritten), std::end(kWritten), rows.begin());
    std::sort(rows.begin(), rows.end(), before);
    return rows;
}
constexpr std::array<NativeRow, kCount> kRows = sorted_rows();

constexpr bool all_different() {
    for (size_t i = 1; i < kCount; ++i) {
        if (!before(kRows[i - 1], kRows[i])) return false;
    }
    return true;
}
static_assert(all_different(), "a builtin has two rows");

}  // namespace

const vm::BuiltinTable& builtin_table() {
    static constexpr vm::BuiltinTable kTable{kRows.data(), kCount, make_builtin_value, make_library_module};
    return kTable;
}

}  // namespace talc::stdlib
