#pragma once
// Operators as data: the enum, the row of each, and their attributes.
#include <cstdint>
#include <optional>
#include <string_view>

#include "tensor/device.hpp"
#include "tensor/dtype.hpp"
#include "tensor/inline_vec.hpp"

namespace talc::tensor {

enum class Op : uint8_t {
#define TALC_OP(id, ...) id,
#include "tensor/ops.def"
#undef TALC_OP
};
inline constexpr int kOpCount = 0
#define TALC_OP(id, ...) +1
#include "tensor/ops.def"
#undef TALC_OP
    ;

enum class Kind : uint8_t { Leaf, Create, Pointwise, Reduction, View, Index, Contraction, Random, Write };
enum class Effect : uint8_t { Pure, Writes };

// Attributes as bits, for the table's rows.
namespace attr {
enum Number : uint8_t {
#define TALC_ATTR(id, field, kind) kNumberOf##id,
#include "tensor/attrs.def"
#undef TALC_ATTR
};
enum Bit : uint32_t {
    NONE = 0,
#define TALC_ATTR(id, field, kind) id = 1u << kNumberOf##id,
#include "tensor/attrs.def"
#undef TALC_ATTR
};
}  // namespace attr

// The fields of all operators in one plain struct; D is int64_t when running and graph::Dim in graphs.
template <class D>
struct AttrsOf {
    ShapeOf<D> sizes;
    Dims dims;
    int64_t dim = 0;
    D start{};
    D end{};
    D step = D(1);
    bool keepdim = false;
    bool mode = false;
    std::optional<DType> dtype;
    Scalar value;
    Scalar delta;
    Device device;
    int64_t which = 0;

    // Only the fields that matter to an operator are ever different from their default, so that this is exact.
    friend bool operator==(const AttrsOf&, const AttrsOf&) = default;
};
using Attrs = AttrsOf<int64_t>;

struct OpInfo {
    std::string_view name;
    uint8_t inputs;  // at least so many when variadic
    bool variadic;
    uint8_t outputs;
    Kind kind;
    uint32_t attrs;  // bits of attr::Bit
    Effect effect;
    bool may_raise;
};
const OpInfo& info(Op op);
inline std::string_view name_of(Op op) { return info(op).name; }
std::optional<Op> op_named(std::string_view name);

// Where its result lies is an attribute, whatever the operands' devices.
inline bool says_device(Op op) { return op == Op::ToDevice || info(op).kind == Kind::Random; }

// Its elements may be computed inside another kernel's loop.
inline bool is_fusable(Op op) {
    Kind kind = info(op).kind;
    return kind == Kind::Create || kind == Kind::Pointwise || kind == Kind::View || kind == Kind::Random ||
           kind == Kind::Reduction;
}

}  // namespace talc::tensor
