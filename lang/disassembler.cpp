#include "lang/disassembler.hpp"

#include <fmt/format.h>

#include "lang/number_text.hpp"
#include "lang/operands.hpp"

namespace talc::lang {

std::string constant_text(const Constant& constant) {
    if (std::holds_alternative<NoneConstant>(constant.value)) return "None";
    if (std::holds_alternative<EllipsisConstant>(constant.value)) return "Ellipsis";
    if (auto* flag = std::get_if<bool>(&constant.value)) return *flag ? "True" : "False";
    if (auto* integer = std::get_if<int64_t>(&constant.value)) return fmt::format("{}", *integer);
    if (auto* number = std::get_if<double>(&constant.value)) return float_text(*number);
    if (auto* text = std::get_if<std::string>(&constant.value)) return quoted_text(*text);
    if (auto* bytes = std::get_if<BytesConstant>(&constant.value)) return "b" + quoted_text(bytes->data);
    std::string out = "(";
    for (const Constant& item : std::get<TupleConstant>(constant.value).items) {
        if (out.size() > 1) out += ", ";
        out += constant_text(item);
    }
    return out + ")";
}

namespace {

constexpr size_t kLongestConstant = 60;

std::string register_text(const Code& code, uint16_t reg) {
    bool named = reg < code.local_names.size() && !code.local_names[reg].empty();
    return named ? fmt::format("r{}:{}", reg, code.local_names[reg]) : fmt::format("r{}", reg);
}

template <class T>
std::string item_text(const std::vector<T>& list, size_t index) {
    return index < list.size() ? std::string(list[index]) : fmt::format("?{}", index);
}

std::string short_constant(const Code& code, size_t index) {
    if (index >= code.constants.size()) return fmt::format("?{}", index);
    std::string text = constant_text(code.constants[index]);
    if (text.size() > kLongestConstant) text = text.substr(0, kLongestConstant) + "...";
    return text;
}

std::string operand_text(const Code& code, const Instr& instr, Role role, uint16_t operand, uint32_t at) {
    switch (role) {
        case Role::none:
            return {};
        case Role::wr:
        case Role::wr2:
        case Role::rd:
        case Role::keep:
        case Role::rw:
            return register_text(code, operand);
        case Role::regs: {
            uint32_t length = range_length(instr);
            return length <= 1 ? register_text(code, operand)
                               : fmt::format("r{}..r{}", operand, operand + length - 1);
        }
        case Role::count:
        case Role::imm:
            return fmt::format("{}", operand);
        case Role::konst:
            return short_constant(code, operand);
        case Role::name:
            return item_text(code.names, operand);
        case Role::site:
            return operand < code.sites.size() ? "." + item_text(code.names, code.sites[operand])
                                               : fmt::format("?{}", operand);
        case Role::code:
            return operand < code.codes.size() ? fmt::format("<{}>", code.codes[operand]->qualname)
                                               : fmt::format("?{}", operand);
        case Role::free:
            return operand < code.captures.size() ? "^" + code.captures[operand].name
                                                  : fmt::format("?{}", operand);
        case Role::jump16:
        case Role::jump:
            return fmt::format("->{}", jump_target(instr, at));
        case Role::glob:
            return item_text(code.globals, static_cast<size_t>(instr.bc()));
        case Role::int32:
            return fmt::format("{}", instr.bc());
    }
    return {};
}

}  // namespace

std::string disassemble_instruction(const Code& code, uint32_t at) {
    const Instr& instr = code.instrs[at];
    if (static_cast<int>(instr.op) >= kOpCount) return fmt::format("?{}", static_cast<int>(instr.op));
    const OpInfo& info = op_info(instr.op);
    if (instr.op == Op::EXTRA) return fmt::format("{:<17}{}", info.name, short_constant(code, instr.a));
    std::string operands;
    const Role roles[] = {info.a, info.b, info.c};
    const uint16_t values[] = {instr.a, instr.b, instr.c};
    for (int i = 0; i < 3; i++) {
        std::string text = operand_text(code, instr, roles[i], values[i], at);
        if (text.empty()) continue;
        if (!operands.empty()) operands += ", ";
        operands += text;
    }
    return operands.empty() ? std::string(info.name) : fmt::format("{:<17}{}", info.name, operands);
}

std::string disassemble(const Code& code) {
    std::string out =
        fmt::format("code {}: {} locals, {} registers", code.qualname, code.nlocals, code.nregs);
    if (code.is_generator) out += ", generator";
    if (code.is_class_body) out += ", class body";
    out += '\n';
    for (const Capture& capture : code.captures) {
        out += fmt::format("  capture {} from {} {}\n", capture.name,
                           capture.from_register ? "register" : "capture", capture.index);
    }
    uint32_t last_line = 0;
    for (uint32_t at = 0; at < code.instrs.size(); at++) {
        uint32_t line = code.source ? code.source->line_of(code.spans[at].begin) : 0;
        std::string shown_line = line != last_line ? fmt::format("{}", line) : std::string();
        last_line = line;
        out += fmt::format("{:>5} {:>5}  {}\n", shown_line, at, disassemble_instruction(code, at));
    }
    for (const Handler& handler : code.handlers) {
        out += fmt::format("  handler [{}, {}) -> {} in r{}\n", handler.begin, handler.end, handler.target,
                           handler.reg);
    }
    for (const auto& nested : code.codes) out += "\n" + disassemble(*nested);
    return out;
}

}  // namespace talc::lang
