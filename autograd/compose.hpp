#pragma once
// Functions built from the table's operators, over any emitter: run eagerly they are recorded step by step, in graphs
// they fuse. (What PyTorch has as one operator and Talc has not.)
#include <limits>
#include <numbers>
#include <optional>

#include "autograd/builder.hpp"
#include "tensor/error.hpp"
#include "tensor/shape_rules.hpp"

namespace talc::autograd {

enum class Reduce : uint8_t { None, Mean, Sum };

template <class E>
class Compose : public Builder<E> {
  public:
    using Base = Builder<E>;
    using typename Base::Attrs;
    using typename Base::Dim;
    using typename Base::Shape;
    using typename Base::Value;
    using Base::Base;
    using Base::e;

    // x @ w.T + bias; an empty bias is none.
    Value linear(Value x, Value w, Value bias = {}) {
        if (e.shape(w).size() != 2) tensor::fail("linear: the weight must have 2 dimensions, but has {}", e.shape(w).size());
        Value y = this->matmul(x, this->transposed(w));
        return bias ? this->add(y, bias) : y;
    }

    Value reduced(Value x, Reduce how) {
        switch (how) {
            case Reduce::None: return x;
            case Reduce::Mean: return this->reduce(Op::Mean, x, {});
            case Reduce::Sum: return this->reduce(Op::Sum, x, {});
        }
        return x;
    }
    Value mse_loss(Value a, Value b, Reduce how = Reduce::Mean) { return reduced(this->square(this->sub(a, b)), how); }
    Value l1_loss(Value a, Value b, Reduce how = Reduce::Mean) { return reduced(this->abs(this->sub(a, b)), how); }

    // The largest along dim is taken off first, so that exp cannot overflow; gradients do not see it.
    Value shifted(Value x, const tensor::Dims& dims) {
        Value floating = as_float(x);
        return this->sub(floating, detach(this->reduce(Op::Amax, floating, dims, true)));
    }
    Value softmax(Value x, int64_t dim) {
        tensor::Dims dims = dims_of(x, dim);
        if (is_empty(x, dims)) return e.emit(Op::Clone, {x});
        Value exps = this->exp(shifted(x, dims));
        return this->div(exps, this->sum(exps, dims, true));
    }
    Value log_softmax(Value x, int64_t dim) {
        tensor::Dims dims = dims_of(x, dim);
        if (is_empty(x, dims)) return e.emit(Op::Clone, {x});
        Value y = shifted(x, dims);
        return this->sub(y, this->log(this->sum(this->exp(y), dims, true)));
    }
    Value logsumexp(Value x, int64_t dim, bool keepdim) {
        tensor::Dims dims = dims_of(x, dim);
        Value largest = detach(this->reduce(Op::Amax, x, dims, true));
        // Infinite ones are not taken off: inf - inf would be nan.
        Value infinite = this->eq(this->abs(largest), std::numeric_limits<double>::infinity());
        largest = this->zero_where(infinite, largest);
        Value sum = this->log(this->sum(this->exp(this->sub(x, largest)), dims, true));
        Value result = this->add(sum, largest);
        return keepdim ? result : squeeze(result, dims);
    }

    Value silu(Value x) { return this->mul(x, e.emit(Op::Sigmoid, {x})); }
    Value clamp(Value x, Value low, Value high) {
        if (low) x = e.emit(Op::ClampMin, {x, low});
        return high ? e.emit(Op::ClampMax, {x, high}) : x;
    }

    // Mean and variance over the last dims; weight and bias may be empty.
    Value layer_norm(Value x, int64_t last_dims, Value weight, Value bias, double eps) {
        tensor::Dims dims;
        int64_t rank = static_cast<int64_t>(e.shape(x).size());
        for (int64_t d = rank - last_dims; d < rank; ++d) dims.push_back(d);
        Value centred = this->sub(x, this->reduce(Op::Mean, x, dims, true));
        Value variance = this->reduce(Op::Mean, this->square(centred), dims, true);
        Value y = this->mul(centred, e.emit(Op::Rsqrt, {this->add(variance, eps)}));
        if (weight) y = this->mul(y, weight);
        return bias ? this->add(y, bias) : y;
    }

    // Classes in dim 1 (or 0 for a vector); targets are class numbers.
    Value nll_loss(Value log_probs, Value target, Reduce how = Reduce::Mean) {
        int64_t dim = e.shape(log_probs).size() > 1 ? 1 : 0;
        Attrs attrs;
        attrs.dim = dim;
        Value index = e.emit(Op::Unsqueeze, {target}, attrs);
        Value picked = squeeze(e.emit(Op::Gather, {log_probs, index}, attrs), {dim});
        return reduced(this->neg(picked), how);
    }
    Value cross_entropy(Value logits, Value target, Reduce how = Reduce::Mean) {
        return nll_loss(log_softmax(logits, e.shape(logits).size() > 1 ? 1 : 0), target, how);
    }

    Value detach(Value x) { return e.emit(Op::Detach, {x}); }
    Value squeeze(Value x, const tensor::Dims& dims) {
        Attrs attrs;
        attrs.dims = dims;
        return e.emit(Op::Squeeze, {x}, attrs);
    }

  private:
    // A fold over nothing has no largest element.
    bool is_empty(Value x, const tensor::Dims& dims) const {
        return !dims.empty() && e.shape(x)[static_cast<size_t>(dims[0])] == Dim(0);
    }
    tensor::Dims dims_of(Value x, int64_t dim) const {
        int64_t rank = static_cast<int64_t>(e.shape(x).size());
        int64_t wrapped = tensor::wrap_dim(dim, rank);
        return rank == 0 ? tensor::Dims{} : tensor::Dims{wrapped};
    }
    Value as_float(Value x) {
        if (!tensor::is_float(e.dtype(x))) {
            tensor::fail(tensor::ErrorKind::NotImplemented, "\"softmax\" not implemented for '{}'",
                         tensor::info(e.dtype(x)).word);
        }
        return x;
    }
};

}  // namespace talc::autograd
