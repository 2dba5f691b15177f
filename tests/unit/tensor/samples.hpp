#pragma once
// Random operands for any operator of the table, so that tests can walk it.
#include <random>
#include <string>
#include <vector>

#include "tensor/eager.hpp"
#include "tensor/factory.hpp"

namespace talc::tensor::samples {

struct Call {
    Op op;
    std::vector<Tensor> inputs;
    Attrs attrs;
    std::string text() const;  // for failure messages
};

class Sampler {
  public:
    Sampler(Context& context, uint32_t seed) : context_(context), random_(seed) {}

    // A call that is valid for the operator, with operands of `dtype` where it may choose. `smooth`: values away
    // from corners and poles, for finite differences.
    Call call(Op op, DType dtype, bool smooth = false);

    int64_t below(int64_t n) { return std::uniform_int_distribution<int64_t>(0, n - 1)(random_); }
    double real(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }
    bool coin() { return below(2) == 0; }
    Dims shape(int64_t min_rank, int64_t max_rank, int64_t min_size = 0);
    // Random values with one of many layouts: row-major, permuted, strided, offset, expanded.
    Tensor tensor(const Dims& shape, DType dtype, double low = -3, double high = 3, bool distinct = false);

  private:
    Dims broadcastable(const Dims& shape);
    Tensor indices(const Dims& shape, int64_t limit, bool negative);
    Tensor relaid(const Tensor& dense);

    Context& context_;
    std::mt19937 random_;
};

}  // namespace talc::tensor::samples
