#include "autograd/vjp.hpp"

#include <array>
#include <initializer_list>

namespace talc::autograd {

namespace {

constexpr Needs NOTHING = 0;
constexpr Needs I0 = operand_bit(0), I1 = operand_bit(1), I2 = operand_bit(2);
constexpr Needs O0 = result_bit(0), O1 = result_bit(1);
constexpr Needs INDICES = Needs{1} << 31;  // all operands from the first index tensor on

struct Row {
    VjpInfo info{false, ""};
    std::array<Needs, 3> needs{};
};

constexpr Row row(std::string_view name, std::initializer_list<Needs> needs) {
    Row row{{true, name}, {}};
    size_t i = 0;
    for (; i < needs.size(); ++i) row.needs[i] = needs.begin()[i];
    for (; i < row.needs.size(); ++i) row.needs[i] = row.needs[i - 1];
    return row;
}

constexpr std::array<Row, tensor::kOpCount> kRows = [] {
    std::array<Row, tensor::kOpCount> rows{};
#define TALC_VJP(id, rule, name, ...) rows[static_cast<size_t>(tensor::Op::id)] = row(#name, {__VA_ARGS__});
#define TALC_NO_VJP(id)
#include "autograd/vjps.def"
#undef TALC_VJP
#undef TALC_NO_VJP
    return rows;
}();
static_assert(I2 != 0);

}  // namespace

const VjpInfo& vjp_info(tensor::Op op) { return kRows[static_cast<size_t>(op)].info; }

Needs vjp_needs(tensor::Op op, size_t i, size_t operand_count) {
    Needs needs = kRows[static_cast<size_t>(op)].needs[std::min<size_t>(i, 2)];
    if (needs & INDICES) {
        needs &= ~INDICES;
        for (size_t k = op == tensor::Op::IndexPut ? 2 : 1; k < operand_count; ++k) needs |= operand_bit(k);
    }
    return needs;
}

}  // namespace talc::autograd
