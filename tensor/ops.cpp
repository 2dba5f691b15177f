#include "tensor/ops.hpp"

#include <array>

namespace talc::tensor {

namespace {

// VARIADIC(n) in the table's arity column.
struct Arity {
    uint8_t count;
    bool variadic;
    constexpr Arity(int count) : count(static_cast<uint8_t>(count)), variadic(false) {}
    constexpr Arity(int count, bool variadic) : count(static_cast<uint8_t>(count)), variadic(variadic) {}
};
#define VARIADIC(n) Arity(n, true)

using namespace attr;

constexpr std::array<OpInfo, kOpCount> kInfos = {{
#define TALC_OP(id, name, inputs, outputs, kind, attributes, effect, raises, type_rule, shape_rule)              \
    {#name, Arity(inputs).count, Arity(inputs).variadic, outputs, Kind::kind, uint32_t(attributes), Effect::effect, \
     raises},
#include "tensor/ops.def"
#undef TALC_OP
}};

}  // namespace

const OpInfo& info(Op op) { return kInfos[static_cast<size_t>(op)]; }

std::optional<Op> op_named(std::string_view name) {
    for (int i = 0; i < kOpCount; ++i) {
        if (kInfos[static_cast<size_t>(i)].name == name) return static_cast<Op>(i);
    }
    return std::nullopt;
}

}  // namespace talc::tensor
