#include <cmath>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "graph/text.hpp"
#include "tensor/factory.hpp"

namespace talc::graph {

using tensor::info;
using tensor::name_of;

namespace {

std::string list_of(const Shape& shape) {
    std::string text = "[";
    for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + to_string(shape[i]);
    return text + "]";
}

// Always with a mark of its kind, and exact: 2 is an int, 2.0 a float.
std::string text_of(Scalar value) {
    switch (value.category) {
        case tensor::Category::Bool: return value.i ? "true" : "false";
        case tensor::Category::Int: return std::to_string(value.i);
        case tensor::Category::Float: break;
    }
    if (std::isnan(value.f)) return "nan";
    if (std::isinf(value.f)) return value.f < 0 ? "-inf" : "inf";
    std::string text = fmt::format("{}", value.f);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

// One printer a kind of attribute; see attrs.def.
std::string text_of_Sizes(const Shape& v) { return list_of(v); }
std::string text_of_Ints(const tensor::Dims& v) { return tensor::bracketed(v); }
std::string text_of_Int(int64_t v) { return std::to_string(v); }
std::string text_of_Dim(Dim v) { return to_string(v); }
std::string text_of_Flag(bool v) { return v ? "true" : "false"; }
std::string text_of_Type(const std::optional<DType>& v) { return v ? std::string(name_of(*v)) : "none"; }
std::string text_of_Number(Scalar v) { return text_of(v); }
std::string text_of_Place(Device v) { return tensor::to_string(v); }

// Written only where they are not at their default.
constexpr uint32_t kOmitted = tensor::attr::KeepDim | tensor::attr::Mode | tensor::attr::ResultDType |
                              tensor::attr::OnDevice | tensor::attr::Step;

std::string constant_text(const tensor::Tensor& value) {
    if (value.numel() > kPrintedConstant) return fmt::format("{} elements", value.numel());
    std::string text;
    for (int64_t i = 0; i < value.numel(); ++i) text += (i ? ", " : "") + text_of(tensor::element_at(value, i));
    return "[" + text + "]";
}

}  // namespace

std::string to_string(const TensorType& type) {
    std::string text = std::string(name_of(type.dtype)) + list_of(type.shape);
    if (type.device.type != tensor::DeviceType::Cpu) text += "@" + tensor::to_string(type.device);
    if (type.weak) text += " number";
    return text;
}

std::string print_attrs(const Node& node) {
    std::string text;
    const Attrs defaults{};
    uint32_t used = info(node.op).attrs;
#define TALC_ATTR(id, field, kind)                                                      \
    if ((used & tensor::attr::id) && !(kOmitted & tensor::attr::id && node.attrs.field == defaults.field)) { \
        text += (text.empty() ? "" : ", ") + fmt::format("{}={}", #field, text_of_##kind(node.attrs.field)); \
    }
#include "tensor/attrs.def"
#undef TALC_ATTR
    return text;
}

std::string print(const Graph& graph) {
    std::unordered_map<const Node*, size_t> numbers;
    std::string text = "graph(";
    for (Value input : graph.inputs()) {
        size_t number = numbers.size();
        numbers[input] = number;
        text += fmt::format("{}%{}: {}", number ? ", " : "", number, to_string(input->type()));
    }
    text += ")";
    bool first = true;
    for (const DimFact& fact : graph.dims().facts()) {
        text += (first ? " where " : ", ") + to_string(fact);
        first = false;
    }
    if (graph.default_float() != DType::Float32) text += fmt::format(" default {}", name_of(graph.default_float()));
    text += " {\n";
    for (Value node : graph.live()) {
        if (node->op == Op::Input) continue;
        size_t number = numbers.size();
        numbers[node] = number;
        std::string types;
        for (const TensorType& type : node->types) types += (types.empty() ? "" : ", ") + to_string(type);
        std::string operands;
        for (Value input : node->inputs) operands += fmt::format("{}%{}", operands.empty() ? "" : ", ", numbers[input]);
        std::string attrs = node->op == Op::Constant ? constant_text(node->constant) : print_attrs(*node);
        if (!attrs.empty() && !operands.empty()) operands += ", ";
        text += fmt::format("    %{}: {} = {}({}{})\n", number, types, name_of(node->op), operands, attrs);
    }
    text += "    return";
    for (size_t i = 0; i < graph.outputs().size(); ++i) {
        text += fmt::format("{} %{}", i ? "," : "", numbers[graph.outputs()[i]]);
    }
    return text + "\n}\n";
}

}  // namespace talc::graph
