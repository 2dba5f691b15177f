#include "tensor/vectorize.hpp"

#include "tensor/pointwise_loops.inl"

namespace talc::tensor {

PointwiseLoop pointwise_loop_float64(Op op) {
    static constexpr auto kLoops = make_loops<double>();
    return kLoops[static_cast<size_t>(op)];
}

}  // namespace talc::tensor
