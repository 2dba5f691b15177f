#include "lang/opcodes.hpp"

namespace talc::lang {

namespace {

constexpr OpInfo kPlain[] = {
#define OP(name, a, b, c, doc) {#name, Role::a, Role::b, Role::c, doc, Op::name},
#include "lang/opcodes.def"
};
constexpr int kPlainCount = sizeof(kPlain) / sizeof(kPlain[0]);

struct Table {
    OpInfo rows[kOpCount] = {};
    constexpr Table() {
        for (int i = 0; i < kPlainCount; i++) rows[i] = kPlain[i];
        int next = kPlainCount;
#define QUICK(quick, base_op)                           \
    rows[next] = kPlain[static_cast<int>(Op::base_op)]; \
    rows[next++].name = #quick;
#include "lang/opcodes.def"
    }
};
constexpr Table kTable;
// Quickened rows follow the plain ones, so that an opcode is an index into both.
static_assert(static_cast<int>(Op::ADD_II) == kPlainCount);

}  // namespace

const OpInfo& op_info(Op op) { return kTable.rows[static_cast<int>(op)]; }

}  // namespace talc::lang
