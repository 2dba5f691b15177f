#include "tensor/pointwise_loops.inl"

namespace talc::tensor {

PointwiseLoop pointwise_loop_int64(Op op) {
    static constexpr auto kLoops = make_loops<int64_t>();
    return kLoops[static_cast<size_t>(op)];
}

}  // namespace talc::tensor
