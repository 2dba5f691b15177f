// Every operator of the table: eager kernel against the plain reference, over random shapes, strides and dtypes.
#include <cmath>

#include "tensor/error.hpp"
#include "tests/unit/catch.hpp"
#include "tests/unit/tensor/samples.hpp"

using namespace talc::tensor;

namespace {

double tolerance(DType dtype) {
    switch (dtype) {
        case DType::Float64: return 1e-12;
        case DType::Float32: return 4e-6;
        case DType::Float16: return 2e-3;
        case DType::BFloat16: return 1.6e-2;
        default: return 0;
    }
}

// Runs it; empty when the operator refuses this dtype.
std::vector<Tensor> outcome(Context& context, const samples::Call& call, bool reference, std::string& error) {
    std::vector<Tensor> results(info(call.op).outputs);
    std::vector<Tensor> inputs = call.inputs;
    if (info(call.op).effect == Effect::Writes) inputs[0] = run(context, Op::Clone, std::span(&inputs[0], 1));
    try {
        if (reference) {
            run_reference(context, call.op, inputs, call.attrs, results);
        } else {
            run(context, call.op, inputs, call.attrs, results);
        }
    } catch (const Error& raised) {
        error = raised.what();
        results.clear();
    }
    return results;
}

}  // namespace

TEST_CASE("eager kernels agree with the reference", "[tensor]") {
    Context context;
    samples::Sampler sampler(context, 20240517);
    const DType dtypes[] = {DType::Float32, DType::Int64,   DType::Bool, DType::Float64, DType::Int32,
                            DType::Float16, DType::BFloat16, DType::UInt8, DType::Int8};
    for (int i = 0; i < kOpCount; ++i) {
        Op op = static_cast<Op>(i);
        if (info(op).kind == Kind::Leaf) continue;
        int worked = 0;
        for (int round = 0; round < 90; ++round) {
            DType dtype = round % 3 == 0 ? DType::Float32 : dtypes[sampler.below(9)];
            samples::Call call = sampler.call(op, dtype);
            INFO(call.text());
            std::string eager_error, reference_error;
            std::vector<Tensor> got = outcome(context, call, false, eager_error);
            std::vector<Tensor> wanted = outcome(context, call, true, reference_error);
            REQUIRE(eager_error == reference_error);
            for (size_t k = 0; k < got.size(); ++k) {
                REQUIRE(got[k].sizes() == wanted[k].sizes());
                REQUIRE(got[k].dtype() == wanted[k].dtype());
                double limit = tolerance(got[k].dtype());
                if (op == Op::Matmul) limit *= 10;
                for (int64_t n = 0; n < got[k].numel(); ++n) {
                    double a = element_at(got[k], n).to_double(), b = element_at(wanted[k], n).to_double();
                    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
                    INFO("element " << n << ": " << a << ", reference " << b);
                    REQUIRE(std::fabs(a - b) <= limit * std::max(1.0, std::fabs(b)));
                }
                ++worked;
            }
        }
        INFO(name_of(op));
        CHECK(worked > 10);
    }
}
