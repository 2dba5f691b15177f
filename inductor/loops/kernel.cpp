#include "inductor/loops/kernel.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tensor/error.hpp"

namespace talc::inductor::loops {

using tensor::fail;
using tensor::info;
using tensor::name_of;

ValueId Kernel::add(Value value) {
    // Kernels are small, and equal values are usually near.
    for (size_t i = values.size(); i-- > 0;) {
        if (values[i] == value) return static_cast<ValueId>(i);
    }
    values.push_back(value);
    return static_cast<ValueId>(values.size() - 1);
}

std::vector<Placement> place(const Kernel& kernel) {
    std::vector<Placement> places(kernel.values.size());
    auto see = [&](Placement& own, const Placement& other) {
        own.folded = own.folded || other.folded;
        own.depth = std::max(own.depth, other.depth);
        own.phase = std::max(own.phase, other.phase);
    };
    for (size_t i = 0; i < kernel.values.size(); ++i) {
        const Value& value = kernel.values[i];
        Placement& own = places[i];
        for (ValueId operand : value.inputs()) see(own, places[operand]);
        if (value.kind == Value::Load || value.kind == Value::Index || value.kind == Value::Random) {
            std::vector<uint32_t> symbols;
            collect_symbols(value.index, symbols);
            for (uint32_t symbol : symbols) {
                switch (kind_of(symbol)) {
                    case SymbolKind::Folded: own.folded = true; break;
                    case SymbolKind::Parallel: own.depth = std::max(own.depth, symbol - kVarBase + 1); break;
                    case SymbolKind::Datum: see(own, places[symbol - kDataBase]); break;
                    default: break;
                }
            }
        }
        if (value.kind == Value::Fold) {
            own.folded = false;
            own.depth = static_cast<uint32_t>(kernel.parallel.size());
            own.phase += 1;
        }
    }
    auto use = [&](auto& self, ValueId id) -> void {
        if (places[id].used) return;
        places[id].used = true;
        for (ValueId operand : kernel.values[id].inputs()) self(self, operand);
        std::vector<uint32_t> symbols;
        collect_symbols(kernel.values[id].index, symbols);
        for (uint32_t symbol : symbols) {
            if (kind_of(symbol) == SymbolKind::Datum) self(self, symbol - kDataBase);
        }
    };
    for (const Store& store : kernel.stores) use(use, store.value);
    // What may raise is computed even if nothing needs its value.
    for (size_t i = 0; i < kernel.values.size(); ++i) {
        const Value& value = kernel.values[i];
        bool divides = value.kind == Value::Apply && (value.op == Op::FloorDiv || value.op == Op::Remainder);
        if (value.kind == Value::Bound || (divides && value.mode)) use(use, static_cast<ValueId>(i));
    }
    return places;
}

uint32_t phase_count(const Kernel& kernel, const std::vector<Placement>& places) {
    uint32_t phases = 0;
    for (size_t i = 0; i < kernel.values.size(); ++i) {
        if (places[i].used) phases = std::max(phases, places[i].phase);
    }
    return phases;
}

namespace {

std::string text_of_number(Scalar value) {
    if (value.category != tensor::Category::Float) return std::to_string(value.i);
    if (std::isnan(value.f)) return "nan";
    if (std::isinf(value.f)) return value.f < 0 ? "-inf" : "inf";
    std::string text = fmt::format("{}", value.f);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string text_of_value(const Value& value, const std::vector<Site>& sites) {
    auto with_operands = [&](std::string text) {
        const char* between = " ";
        for (ValueId operand : value.inputs()) {
            text += fmt::format("{}%{}", between, operand);
            between = ", ";
        }
        return text;
    };
    switch (value.kind) {
        case Value::Load: return fmt::format("load b{}[{}]", value.buffer, text_of(value.index));
        case Value::Number: return "number " + text_of_number(value.number);
        case Value::Index: return fmt::format("index {}", text_of(value.index));
        case Value::Apply: return with_operands(std::string(name_of(value.op)) + (!value.mode ? "" : value.op == Op::Gelu ? ".tanh" : ".checked"));
        case Value::Fold: return with_operands("fold " + std::string(name_of(value.op)));
        case Value::Random: return with_operands(std::string(name_of(value.op))) + fmt::format(" at {}", text_of(value.index));
        case Value::Bound:
            return with_operands("bound") + fmt::format(" < {}{} dim {}", text_of(value.index), value.mode ? " wraps" : "",
                                                        sites[value.site].dim);
    }
    return "?";
}

}  // namespace

std::string print(const Kernel& kernel) {
    std::string text = "kernel(";
    for (size_t i = 0; i < kernel.params.size(); ++i) text += fmt::format("{}n{}", i ? ", " : "", i);
    if (!kernel.params.empty()) text += "; ";
    for (size_t i = 0; i < kernel.buffers.size(); ++i) {
        text += fmt::format("{}b{}: {}{}", i ? ", " : "", i, kernel.buffers[i].stored ? "out " : "",
                            name_of(kernel.buffers[i].dtype));
    }
    text += ")";
    const char* word = " for ";
    for (size_t i = 0; i < kernel.parallel.size(); ++i) {
        text += fmt::format("{}i{} < {}", word, i, text_of(kernel.parallel[i]));
        word = ", ";
    }
    word = " fold ";
    for (size_t i = 0; i < kernel.folded.size(); ++i) {
        text += fmt::format("{}r{} < {}", word, i, text_of(kernel.folded[i]));
        word = ", ";
    }
    text += " {\n";
    for (size_t i = 0; i < kernel.values.size(); ++i) {
        const Value& value = kernel.values[i];
        text += fmt::format("    %{}: {} = {}\n", i, name_of(value.dtype), text_of_value(value, kernel.sites));
    }
    for (const Store& store : kernel.stores) {
        text += fmt::format("    b{}[{}] = %{}\n", store.buffer, text_of(store.index), store.value);
    }
    return text + "}\n";
}

namespace {

bool folds_to_index(Op op) { return op == Op::Argmax || op == Op::Argmin; }
bool folds(Op op) {
    return folds_to_index(op) || op == Op::Sum || op == Op::Prod || op == Op::Amax || op == Op::Amin || op == Op::Any || op == Op::All;
}

void check_index(const Kernel& kernel, Dim index, size_t values_before, const std::string& where) {
    std::vector<uint32_t> symbols;
    collect_symbols(index, symbols);
    for (uint32_t symbol : symbols) {
        bool known = false;
        switch (kind_of(symbol)) {
            case SymbolKind::Size: known = symbol < kernel.params.size(); break;
            case SymbolKind::Stride: break;
            case SymbolKind::Parallel: known = symbol - kVarBase < kernel.parallel.size(); break;
            case SymbolKind::Folded: known = symbol - kFoldBase < kernel.folded.size(); break;
            case SymbolKind::Datum:
                known = symbol - kDataBase < values_before &&
                        kernel.values[symbol - kDataBase].dtype == DType::Int64;
                break;
        }
        if (!known) fail("kernel {}: {}: an unknown name in {}", kernel.name, where, text_of(index));
    }
}

}  // namespace

void verify(const Kernel& kernel) {
    for (size_t i = 0; i < kernel.values.size(); ++i) {
        const Value& value = kernel.values[i];
        std::string where = fmt::format("%{}", i);
        for (ValueId operand : value.inputs()) {
            if (operand >= i) fail("kernel {}: {}: an operand comes later", kernel.name, where);
        }
        if (value.kind == Value::Load) {
            if (value.buffer >= kernel.buffers.size() || kernel.buffers[value.buffer].dtype != value.dtype) {
                fail("kernel {}: {}: a load from no buffer of its dtype", kernel.name, where);
            }
        }
        if (value.kind == Value::Fold) {
            bool test = value.op == Op::Any || value.op == Op::All;
            bool to_index = folds_to_index(value.op);
            DType joined = kernel.values[value.operands[0]].dtype;
            if (!folds(value.op) || value.operand_count != (to_index ? 2 : 1) || (test && value.dtype != DType::Bool) ||
                (to_index && value.dtype != DType::Int64) || (!test && !to_index && joined != value.dtype)) {
                fail("kernel {}: {}: not a fold", kernel.name, where);
            }
        }
        if (value.kind == Value::Apply) {
            if (info(value.op).kind != tensor::Kind::Pointwise || info(value.op).inputs != value.operand_count) {
                fail("kernel {}: {}: {} is not pointwise or has {} operands", kernel.name, where, name_of(value.op),
                     value.operand_count);
            }
            if (value.operand_count >= 2) {
                DType last = kernel.values[value.operands[value.operand_count - 1u]].dtype;
                if (kernel.values[value.operands[value.operand_count - 2u]].dtype != last) {
                    fail("kernel {}: {}: operands of {} differ in dtype", kernel.name, where, name_of(value.op));
                }
            }
        }
        check_index(kernel, value.index, i, where);
    }
    for (Dim size : kernel.parallel) check_index(kernel, size, 0, "a loop");
    for (Dim size : kernel.folded) check_index(kernel, size, 0, "a loop");
    std::vector<Placement> places = place(kernel);
    for (const Store& store : kernel.stores) {
        if (store.buffer >= kernel.buffers.size() || !kernel.buffers[store.buffer].stored) {
            fail("kernel {}: a store to no output", kernel.name);
        }
        if (kernel.buffers[store.buffer].dtype != kernel.values[store.value].dtype) {
            fail("kernel {}: a store of another dtype to b{}", kernel.name, store.buffer);
        }
        check_index(kernel, store.index, kernel.values.size(), "a store");
        bool runs = false;
        std::vector<uint32_t> symbols;
        collect_symbols(store.index, symbols);
        for (uint32_t symbol : symbols) runs = runs || kind_of(symbol) == SymbolKind::Folded;
        if (places[store.value].folded && !runs) fail("kernel {}: b{} is stored to many times", kernel.name, store.buffer);
    }
}

}  // namespace talc::inductor::loops
