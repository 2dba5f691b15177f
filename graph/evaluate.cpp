#include "graph/evaluate.hpp"

#include <optional>

#include "graph/text.hpp"
#include "tensor/eager.hpp"
#include "tensor/error.hpp"

namespace talc::graph {

using tensor::fail;
using tensor::Tensor;

std::vector<int64_t> bind_symbols(const Graph& graph, std::span<const Tensor> arguments) {
    if (arguments.size() != graph.inputs().size()) {
        fail("the graph takes {} arguments, but got {}", graph.inputs().size(), arguments.size());
    }
    std::vector<std::optional<int64_t>> bound(graph.dims().symbol_count());
    for (size_t i = 0; i < arguments.size(); ++i) {
        const TensorType& type = graph.inputs()[i]->type();
        const Tensor& argument = arguments[i];
        if (argument.dtype() != type.dtype || argument.sizes().size() != type.shape.size() ||
            !(argument.device() == type.device) || argument.is_weak() != type.weak) {
            fail("argument {} of the graph: expected {}, but got {}", i, to_string(type), to_string(type_of(argument)));
        }
        for (size_t d = 0; d < type.shape.size(); ++d) {
            int64_t symbol = type.shape[d].symbol_id();
            if (symbol < 0) continue;
            auto& slot = bound[static_cast<size_t>(symbol)];
            if (!slot) slot = argument.sizes()[d];
            if (*slot < 2) fail("argument {} of the graph: size {} at dimension {} is special", i, *slot, d);
        }
    }
    std::vector<int64_t> values;
    for (size_t s = 0; s < bound.size(); ++s) {
        // A symbol that no argument shows (left over from recording) keeps its hint.
        auto hint = graph.dims().hint(Dim::symbol(static_cast<uint32_t>(s)));
        values.push_back(bound[s].value_or(hint.value_or(2)));
    }
    SymbolValues value_of = [&](uint32_t symbol) { return values[symbol]; };
    for (size_t i = 0; i < arguments.size(); ++i) {
        if (!(concrete(graph.inputs()[i]->shape(), value_of) == arguments[i].sizes())) {
            fail("argument {} of the graph: expected {}, but got {}", i, to_string(graph.inputs()[i]->type()),
                 to_string(type_of(arguments[i])));
        }
    }
    for (const DimFact& fact : graph.dims().facts()) {
        if (!holds(fact, value_of)) fail("the arguments break a fact of the graph: {}", to_string(fact));
    }
    return values;
}

std::vector<Tensor> evaluate(const Graph& graph, tensor::Context& context, std::span<const Tensor> arguments,
                             Engine engine) {
    std::vector<int64_t> symbols = bind_symbols(graph, arguments);
    SymbolValues value_of = [&](uint32_t symbol) { return symbols[symbol]; };
    DType saved_default = context.default_float;
    context.default_float = graph.default_float();
    struct Restore {
        tensor::Context& context;
        DType value;
        ~Restore() { context.default_float = value; }
    } restore{context, saved_default};

    std::vector<Value> order = graph.live();
    std::vector<uint32_t> uses(graph.size(), 0);
    for (Value node : order) {
        for (Value input : node->inputs) ++uses[input->id];
    }
    for (Value output : graph.outputs()) ++uses[output->id];

    std::vector<std::vector<Tensor>> results(graph.size());
    std::vector<Tensor> operands;
    for (Value node : order) {
        auto& own = results[node->id];
        if (node->op == Op::Input) {
            own = {arguments[static_cast<size_t>(node->attrs.which)]};
            continue;
        }
        if (node->op == Op::Constant) {
            own = {node->constant};
            continue;
        }
        operands.clear();
        for (Value input : node->inputs) {
            auto& given = results[input->id];
            if (node->op == Op::Output) {
                operands = {given[static_cast<size_t>(node->attrs.which)]};
            } else {
                operands.push_back(given[0]);
            }
            if (--uses[input->id] == 0) given.clear();  // memory goes as soon as nobody needs it
        }
        if (node->op == Op::Output) {
            own = operands;
            continue;
        }
        own.resize(node->types.size());
        tensor::Attrs attrs = concrete(node->attrs, value_of);
        if (engine == Engine::Reference) {
            tensor::run_reference(context, node->op, operands, attrs, own);
        } else {
            tensor::run(context, node->op, operands, attrs, own);
        }
    }
    std::vector<Tensor> outputs;
    for (Value output : graph.outputs()) outputs.push_back(results[output->id][0]);
    return outputs;
}

}  // namespace talc::graph
