#include "tensor/vectorize.hpp"

#include "tensor/pointwise_loops.inl"

namespace talc::tensor {

PointwiseLoop pointwise_loop_float32(Op op) {
    static constexpr auto kLoops = make_loops<float>();
    return kLoops[static_cast<size_t>(op)];
}

}  // namespace talc::tensor
