#pragma once
// The loop IR: one kernel is one nest of loops. For every point of the parallel loops (in any order, or at once) it
// computes values, folds some of them over the folded loops, and stores.
//
// Semantics. A value is rounded to its dtype. Values that hold a folded variable are computed anew wherever they are
// needed: for a fold, and for a store after that fold. A fold may join its elements in any order; sums and products of
// float32 are collected in float64. No two points store to one place, and a buffer that is stored to is loaded, if at
// all, only at the place that the same point stores to, before it. `bound` is an index checked against a size: out of
// range, and likewise a zero divisor of integers, is reported as the error of its site, and the rest goes on with some
// index that is in range.
#include <array>
#include <string>
#include <vector>

#include "inductor/loops/index.hpp"
#include "tensor/ops.hpp"

namespace talc::inductor::loops {

using tensor::DType;
using tensor::Op;
using tensor::Scalar;

using ValueId = uint32_t;

struct Value {
    enum Kind : uint8_t {
        Load,    // buffer[index]
        Number,  // a constant
        Index,   // an index expression as int64
        Apply,   // a pointwise operator; operands have the dtype that it computes in
        Fold,    // operand 0, joined over all folded loops by sum, prod, amax, amin, any or all; argmax and argmin give
                 // operand 1 where operand 0 is extreme (the least of them, where several are)
        Random,  // rand or randn as float32: operands are seed and position, `index` the number of the element
        Bound,   // operand 0 as an index below the size `index`; negative ones count from the end if `mode`
    };
    Value(Kind kind) : kind(kind) {}

    Kind kind;
    Op op = Op::Clone;
    DType dtype = DType::Float32;
    bool mode = false;  // gelu: the tanh form; integer quotients: the divisor may be 0, which is an error
    uint8_t operand_count = 0;
    std::array<ValueId, 3> operands{};
    Scalar number;
    uint32_t buffer = 0;
    Dim index;
    uint32_t site = 0;  // of an error: what Kernel::sites says

    std::span<const ValueId> inputs() const { return {operands.data(), operand_count}; }
    friend bool operator==(const Value&, const Value&) = default;
};

struct Store {
    uint32_t buffer;
    Dim index;
    ValueId value;
};

struct Buffer {
    DType dtype;
    bool stored = false;
};

// What a kernel can report.
struct Site {
    enum Kind : uint8_t { IndexOutOfRange, ZeroDivision } kind;
    int64_t dim = 0;    // of the index
    bool wraps = true;  // negative indices are allowed
};

struct Kernel {
    std::string name;             // no part of its meaning
    std::vector<Dim> params;      // what n0, n1, ... stand for outside
    std::vector<Buffer> buffers;
    std::vector<Dim> parallel;    // sizes of i0, i1, ..., the outermost first
    std::vector<Dim> folded;      // sizes of r0, r1, ...
    std::vector<Value> values;    // operands before their users
    std::vector<Store> stores;
    std::vector<Site> sites;

    // The same computation is the same value.
    ValueId add(Value value);
    bool may_raise() const { return !sites.empty(); }
};

// Which loops a value needs, and after which folds it is there.
struct Placement {
    bool folded = false;   // holds a folded variable: inside the folded loops
    uint32_t depth = 0;    // number of parallel loops around it, when not folded
    uint32_t phase = 0;    // number of passes over the folded loops before it is known
    bool used = false;     // by a store, directly or not
};
std::vector<Placement> place(const Kernel& kernel);
uint32_t phase_count(const Kernel& kernel, const std::vector<Placement>& places);

// One canonical text for each meaning: equal texts are equal kernels. See tests/unit/inductor for examples.
std::string print(const Kernel& kernel);
// Fails with a tensor::Error that names what is wrong.
void verify(const Kernel& kernel);

// Calls f with every index expression of the kernel, to read or to change.
template <class K, class F>
void for_each_index(K& kernel, F&& f) {
    for (auto& value : kernel.values) {
        if (value.kind != Value::Number && value.kind != Value::Apply && value.kind != Value::Fold) f(value.index);
    }
    for (auto& store : kernel.stores) f(store.index);
}

}  // namespace talc::inductor::loops
