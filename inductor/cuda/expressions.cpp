#include "inductor/cuda/expressions.hpp"

#include <cmath>

#include <fmt/format.h>

#include "tensor/error.hpp"

namespace talc::inductor::cuda {

using graph::DimAtom;
using graph::DimTerm;
using loops::Dim;
using loops::DType;
using loops::Op;
using loops::Value;
using tensor::is_float;

std::string carrier_of(DType dtype) {
    switch (dtype) {
        case DType::Bool: return "bool";
        case DType::UInt8:
        case DType::Int8:
        case DType::Int16:
        case DType::Int32: return "int";
        case DType::Int64: return "i64";
        case DType::Float64: return "double";
        default: return "float";
    }
}

std::string memory_type_of(DType dtype) {
    switch (dtype) {
        case DType::UInt8: return "unsigned char";
        case DType::Int8: return "signed char";
        case DType::Int16: return "short";
        case DType::Float16:
        case DType::BFloat16: return "unsigned short";
        default: return carrier_of(dtype);
    }
}

std::string from_memory(const std::string& text, DType dtype) {
    if (dtype == DType::Float16) return fmt::format("from_half({})", text);
    if (dtype == DType::BFloat16) return fmt::format("from_bfloat({})", text);
    return text;
}

std::string to_memory(const std::string& text, DType dtype) {
    if (dtype == DType::Float16) return fmt::format("to_half({})", text);
    if (dtype == DType::BFloat16) return fmt::format("to_bfloat({})", text);
    return memory_type_of(dtype) == carrier_of(dtype) ? text : fmt::format("static_cast<{}>({})", memory_type_of(dtype), text);
}

std::string rounded(const std::string& text, DType dtype) {
    if (memory_type_of(dtype) == carrier_of(dtype)) return text;
    return from_memory(to_memory(text, dtype), dtype);
}

std::string converted(const std::string& text, DType from, DType to) {
    if (to == DType::Bool) return fmt::format("({} != {}(0))", text, carrier_of(from));
    std::string plain;
    if (!is_float(to) && is_float(from)) {
        plain = fmt::format("static_cast<{}>(to_whole({}))", carrier_of(to), text);
    } else {
        plain = fmt::format("static_cast<{}>({})", carrier_of(to), text);
    }
    return rounded(plain, to);
}

std::string index_text(Dim expr) {
    if (expr.is_constant()) return fmt::format("{}ll", expr.constant());
    std::string text;
    for (const DimTerm& term : expr.expr()->terms) {
        std::string product = term.factor == 1 && !term.atoms.empty() ? "" : fmt::format("{}ll", term.factor);
        for (const DimAtom* atom : term.atoms) {
            std::string factor;
            if (atom->kind == DimAtom::Symbol) {
                uint32_t s = atom->symbol;
                switch (loops::kind_of(s)) {
                    case loops::SymbolKind::Size: factor = fmt::format("n{}", s); break;
                    case loops::SymbolKind::Parallel: factor = fmt::format("i{}", s - loops::kVarBase); break;
                    case loops::SymbolKind::Folded: factor = fmt::format("r{}", s - loops::kFoldBase); break;
                    case loops::SymbolKind::Datum: factor = fmt::format("v{}", s - loops::kDataBase); break;
                    case loops::SymbolKind::Stride: tensor::fail("a stride in a finished kernel");
                }
            } else {
                factor = fmt::format("(({}) {} ({}))", index_text(atom->a), atom->kind == DimAtom::FloorDiv ? "/" : "%",
                                     index_text(atom->b));
            }
            product += product.empty() ? factor : " * " + factor;
        }
        text += text.empty() ? product : " + " + product;
    }
    return text;
}

std::string number_text(loops::Scalar value, DType dtype) {
    if (dtype == DType::Bool) return value.to_double() != 0 ? "true" : "false";
    if (!is_float(dtype)) {
        int64_t whole = value.to_int();
        if (whole == INT64_MIN) return "(-9223372036854775807ll - 1)";
        return dtype == DType::Int64 ? fmt::format("i64({}ll)", whole) : fmt::format("int({}ll)", whole);
    }
    double x = value.to_double();
    bool wide = dtype == DType::Float64;
    if (std::isnan(x)) return wide ? "__longlong_as_double(0x7ff8000000000000ll)" : "__int_as_float(0x7fc00000)";
    if (std::isinf(x)) {
        return fmt::format("{}({})", x < 0 ? "-" : "",
                           wide ? "__longlong_as_double(0x7ff0000000000000ll)" : "__int_as_float(0x7f800000)");
    }
    std::string text = wide ? fmt::format("{:.17g}", x) : fmt::format("{:.9g}", x);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return wide ? fmt::format("({})", text) : fmt::format("({}f)", text);
}

namespace {

std::string float_call(const char* name, DType operand, const std::string& a, const std::string& b = "") {
    std::string suffix = operand == DType::Float64 ? "" : "f";
    return b.empty() ? fmt::format("{}{}({})", name, suffix, a) : fmt::format("{}{}({}, {})", name, suffix, a, b);
}

std::string operator_text(const Value& value, DType operand, const std::string& a, const std::string& b) {
    bool floating = is_float(operand);
    std::string type = carrier_of(operand);
    auto infix = [&](const char* sign) { return fmt::format("({} {} {})", a, sign, b); };
    auto call = [&](const char* name) { return fmt::format("{}({}, {})", name, a, b); };
    switch (value.op) {
        case Op::Neg: return floating ? "-" + a : fmt::format("minus({}(0), {})", type, a);
        case Op::Abs: return floating ? float_call("fabs", operand, a) : fmt::format("({0} < 0 ? minus({1}(0), {0}) : {0})", a, type);
        case Op::Sign: return fmt::format("sign_of({})", a);
        case Op::Relu: return fmt::format("larger({}, {}(0))", a, type);
        case Op::Floor: return float_call("floor", operand, a);
        case Op::Ceil: return float_call("ceil", operand, a);
        case Op::Trunc: return float_call("trunc", operand, a);
        case Op::Round: return float_call("rint", operand, a);
        case Op::Exp: return float_call("exp", operand, a);
        case Op::Expm1: return float_call("expm1", operand, a);
        case Op::Log: return float_call("log", operand, a);
        case Op::Log1p: return float_call("log1p", operand, a);
        case Op::Sqrt: return float_call("sqrt", operand, a);
        case Op::Rsqrt: return fmt::format("({}(1) / {})", type, float_call("sqrt", operand, a));
        case Op::Reciprocal: return fmt::format("({}(1) / {})", type, a);
        case Op::Sin: return float_call("sin", operand, a);
        case Op::Cos: return float_call("cos", operand, a);
        case Op::Tanh: return float_call("tanh", operand, a);
        case Op::Sigmoid: return fmt::format("sigmoid({})", a);
        case Op::Erf: return float_call("erf", operand, a);
        case Op::Gelu: return fmt::format("{}({})", value.mode ? "gelu_tanh" : "gelu", a);
        case Op::IsNan: return fmt::format("({0} != {0})", a);
        case Op::Add: return call("plus");
        case Op::Sub: return call("minus");
        case Op::Mul: return call("times");
        case Op::Div: return infix("/");
        case Op::FloorDiv: return call(floating ? "float_floor_quotient" : "floor_quotient");
        case Op::Remainder: return call(floating ? "float_floor_remainder" : "floor_remainder");
        case Op::Pow: return floating ? float_call("pow", operand, a, b) : call("whole_power");
        case Op::Maximum: return call("larger");
        case Op::Minimum: return call("smaller");
        case Op::BitAnd: return infix("&");
        case Op::BitOr: return infix("|");
        case Op::BitXor: return infix("^");
        case Op::BitNot: return "~" + a;
        default: tensor::fail("{} has no CUDA code", name_of(value.op));
    }
}

}  // namespace

std::string apply_text(const loops::Kernel& kernel, const Value& value) {
    auto name = [&](size_t i) { return fmt::format("v{}", value.operands[i]); };
    DType operand = kernel.values[value.operands[value.operand_count - 1u]].dtype;
    auto truth = [&](size_t i) { return converted(name(i), kernel.values[value.operands[i]].dtype, DType::Bool); };
    auto compare = [&](const char* sign) { return fmt::format("({} {} {})", name(0), sign, name(1)); };
    switch (value.op) {
        case Op::Cast: return converted(name(0), operand, value.dtype);
        case Op::Where: return fmt::format("(v{} ? v{} : v{})", value.operands[0], value.operands[1], value.operands[2]);
        case Op::Eq: return compare("==");
        case Op::Ne: return compare("!=");
        case Op::Lt: return compare("<");
        case Op::Le: return compare("<=");
        case Op::Gt: return compare(">");
        case Op::Ge: return compare(">=");
        case Op::LogicalNot: return "!" + truth(0);
        case Op::LogicalAnd: return fmt::format("({} && {})", truth(0), truth(1));
        case Op::LogicalOr: return fmt::format("({} || {})", truth(0), truth(1));
        case Op::LogicalXor: return fmt::format("({} != {})", truth(0), truth(1));
        default: break;
    }
    std::string text = operator_text(value, operand, name(0), value.operand_count > 1 ? name(1) : "");
    return value.op == Op::IsNan ? text : rounded(text, value.dtype);
}

}  // namespace talc::inductor::cuda
