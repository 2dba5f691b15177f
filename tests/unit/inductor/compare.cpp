#include "tests/unit/inductor/compare.hpp"

#include <cmath>

#include <fmt/format.h>

#include "graph/text.hpp"
#include "tensor/error.hpp"
#include "tensor/factory.hpp"

namespace talc::inductor::testing {

using tensor::DType;
using tensor::Tensor;

FragmentSpec spec_for(const graph::Graph& graph, std::span<const Tensor> arguments) {
    FragmentSpec spec;
    spec.graph = &graph;
    for (const Tensor& argument : arguments) spec.layouts.push_back(argument.layout_class());
    spec.name = "test";
    return spec;
}

namespace {

double ulp_of(double x, DType dtype) {
    int digits = dtype == DType::Float64 ? 53 : dtype == DType::Float32 ? 24 : dtype == DType::Float16 ? 11 : 8;
    int least = dtype == DType::Float64 ? -1074 : dtype == DType::Float16 ? -24 : dtype == DType::Float32 ? -149 : -133;
    int exponent;
    std::frexp(x, &exponent);
    return std::ldexp(1.0, std::max(exponent - digits, least));
}

}  // namespace

std::string difference(const Tensor& got, const Tensor& wanted, Tolerance tolerance) {
    if (got.dtype() != wanted.dtype() || !(got.sizes() == wanted.sizes())) {
        return fmt::format("{}{} instead of {}{}", name_of(got.dtype()), tensor::bracketed(got.sizes()),
                           name_of(wanted.dtype()), tensor::bracketed(wanted.sizes()));
    }
    for (int64_t i = 0; i < wanted.numel(); ++i) {
        tensor::Scalar a = element_at(got, i), b = element_at(wanted, i);
        bool same;
        if (is_float(wanted.dtype())) {
            bool special = std::isnan(b.f) || std::isinf(b.f) || std::isnan(a.f) || std::isinf(a.f);
            double allowed = tolerance.ulps * ulp_of(b.f, wanted.dtype()) + tolerance.absolute;
            same = special ? (std::isnan(a.f) && std::isnan(b.f)) || a.f == b.f : std::fabs(a.f - b.f) <= allowed;
            if (!same) return fmt::format("element {}: {:.17g} instead of {:.17g}", i, a.f, b.f);
        } else if (a.i != b.i) {
            return fmt::format("element {}: {} instead of {}", i, a.i, b.i);
        }
    }
    return "";
}

std::string check(const graph::Graph& graph, std::span<const Tensor> arguments, Tolerance tolerance) {
    tensor::Context context;
    std::vector<Tensor> wanted;
    std::string refusal;
    try {
        wanted = evaluate(graph, context, arguments, graph::Engine::Reference);
    } catch (const tensor::Error& error) {
        refusal = error.what();
    }
    std::unique_ptr<Executable> code;
    try {
        code = cpu_backend().compile(spec_for(graph, arguments));
    } catch (const tensor::Error& error) {
        return fmt::format("{}\nnot compiled: {}", print(graph), error.what());
    }
    for (int round = 0; round < 2; ++round) {
        std::vector<Tensor> results(graph.outputs().size());
        std::string problem;
        try {
            code->run(context, arguments, results);
            if (!refusal.empty()) problem = "no error, but the reference fails with: " + refusal;
        } catch (const tensor::Error& error) {
            if (refusal.empty()) problem = fmt::format("failed: {}", error.what());
            if (!refusal.empty()) continue;
        }
        for (size_t o = 0; o < wanted.size() && problem.empty(); ++o) {
            problem = difference(results[o], wanted[o], tolerance);
            if (!problem.empty()) problem = fmt::format("output {}: {}", o, problem);
        }
        if (problem.empty()) continue;
        std::string text = print(graph) + problem + "\n";
        for (const Tensor& argument : arguments) {
            text += fmt::format("argument {}{}/{}\n", name_of(argument.dtype()), tensor::bracketed(argument.sizes()),
                                tensor::bracketed(argument.strides()));
        }
        for (const KernelInfo& kernel : code->kernels()) text += kernel.name + ": " + kernel.text;
        return text;
    }
    return "";
}

}  // namespace talc::inductor::testing
