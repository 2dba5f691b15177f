#include "lang/code_builder.hpp"

#include <fmt/format.h>

#include <bit>

namespace talc::lang {

namespace {

constexpr uint32_t kMaxIndex = 0xFFFF;
constexpr size_t kMaxInstructions = size_t{1} << 24;

bool ends_control(Op op) {
    switch (op) {
        case Op::JUMP:
        case Op::JUMP_BACK:
        case Op::RETURN:
        case Op::RETURN_NONE:
        case Op::RAISE:
        case Op::RAISE_FROM:
        case Op::RERAISE:
        case Op::RAISE_CURRENT:
        case Op::RAISE_ASSERT:
            return true;
        default:
            return false;
    }
}

}  // namespace

void CodeBuilder::fail(std::string message) const {
    throw CompileFailure{SyntaxError{std::move(message), span_, SyntaxErrorKind::Syntax, false}};
}

void CodeBuilder::emit(Op op, Reg a, uint16_t b, uint16_t c) {
    if (!reachable_) return;
    if (code_.instrs.size() >= kMaxInstructions) fail("too much code in one function");
    code_.instrs.push_back({op, a, b, c});
    code_.spans.push_back(span_);
    if (ends_control(op)) reachable_ = false;
}

void CodeBuilder::emit_wide(Op op, Reg a, int32_t bc) {
    if (!reachable_) return;
    Instr instr{op, a, 0, 0};
    instr.set_bc(bc);
    emit(op, a, instr.b, instr.c);
}

LabelId CodeBuilder::new_label() {
    labels_.emplace_back();
    return static_cast<LabelId>(labels_.size() - 1);
}

void CodeBuilder::bind(LabelId id) {
    Label& label = labels_[id];
    label.position = static_cast<int32_t>(position());
    if (!label.used) return;
    if (reachable_) {
        bound_.intersect(label.bound);
    } else {
        bound_ = label.bound;
        reachable_ = true;
    }
}

void CodeBuilder::use_label(LabelId id) {
    Label& label = labels_[id];
    if (label.used) {
        label.bound.intersect(bound_);
    } else {
        label.bound = bound_;
        label.used = true;
    }
}

void CodeBuilder::emit_jump(Op op, Reg a, LabelId label) {
    if (!reachable_) return;
    use_label(label);
    fixups_.push_back({position(), label, false});
    emit(op, a);
}

void CodeBuilder::emit_jump16(Op op, uint16_t a, uint16_t b, LabelId label) {
    if (!reachable_) return;
    use_label(label);
    fixups_.push_back({position(), label, true});
    emit(op, a, b);
}

// ---- tables

uint32_t CodeBuilder::intern(TextMap& map, std::vector<std::string>& list, std::string_view text,
                             uint32_t limit, std::string_view what) {
    auto found = map.find(text);
    if (found != map.end()) return found->second;
    auto index = static_cast<uint32_t>(list.size());
    if (index >= limit) fail(fmt::format("too many {} in one function", what));
    list.emplace_back(text);
    map.emplace(text, index);
    return index;
}

uint16_t CodeBuilder::name(std::string_view text) {
    return static_cast<uint16_t>(intern(names_, code_.names, text, kMaxIndex, "names"));
}

int32_t CodeBuilder::global(std::string_view text) {
    return static_cast<int32_t>(intern(globals_, code_.globals, text, INT32_MAX, "globals"));
}

uint16_t CodeBuilder::site(std::string_view text) {
    if (!reachable_) return 0;
    if (code_.sites.size() > kMaxIndex) fail("too many attributes in one function");
    code_.sites.push_back(name(text));
    return static_cast<uint16_t>(code_.sites.size() - 1);
}

uint16_t CodeBuilder::nested(std::unique_ptr<Code> code) {
    if (code_.codes.size() > kMaxIndex) fail("too many functions in one function");
    code_.codes.push_back(std::move(code));
    return static_cast<uint16_t>(code_.codes.size() - 1);
}

namespace {

Constant to_constant(const ConstantValue& value) {
    switch (value.kind) {
        case ConstantKind::None:
            return {NoneConstant{}};
        case ConstantKind::True:
            return {true};
        case ConstantKind::False:
            return {false};
        case ConstantKind::Ellipsis:
            return {EllipsisConstant{}};
        case ConstantKind::Int:
            return {value.integer};
        case ConstantKind::Float:
            return {value.number};
        case ConstantKind::Str:
            return {std::string(value.text)};
        case ConstantKind::Bytes:
            return {BytesConstant{std::string(value.text)}};
        case ConstantKind::Tuple: {
            TupleConstant tuple;
            tuple.items.reserve(value.items.size);
            for (const ConstantValue& item : value.items) tuple.items.push_back(to_constant(item));
            return {std::move(tuple)};
        }
    }
    return {NoneConstant{}};
}

}  // namespace

// Distinct constants have distinct keys: kind, then bits or length and text.
void CodeBuilder::write_key(std::string& key, const ConstantValue& value) const {
    auto bits = [&](uint64_t word) { key.append(reinterpret_cast<const char*>(&word), sizeof word); };
    key += static_cast<char>('a' + static_cast<int>(value.kind));
    switch (value.kind) {
        case ConstantKind::Int:
            return bits(static_cast<uint64_t>(value.integer));
        case ConstantKind::Float:
            return bits(std::bit_cast<uint64_t>(value.number));
        case ConstantKind::Str:
        case ConstantKind::Bytes:
            bits(value.text.size());
            key += value.text;
            return;
        case ConstantKind::Tuple:
            bits(value.items.size);
            for (const ConstantValue& item : value.items) write_key(key, item);
            return;
        default:
            return;
    }
}

uint16_t CodeBuilder::constant(const ConstantValue& value) {
    if (!reachable_) return 0;
    key_.clear();
    write_key(key_, value);
    auto found = constants_.find(key_);
    if (found != constants_.end()) return static_cast<uint16_t>(found->second);
    auto index = static_cast<uint32_t>(code_.constants.size());
    if (index > kMaxIndex) fail("too many constants in one function");
    code_.constants.push_back(to_constant(value));
    constants_.emplace(key_, index);
    return static_cast<uint16_t>(index);
}

uint16_t CodeBuilder::text_constant(std::string_view text) {
    ConstantValue value;
    value.kind = ConstantKind::Str;
    value.text = text;
    return constant(value);
}

// ---- registers

void CodeBuilder::set_local_count(uint32_t count) {
    code_.nlocals = static_cast<uint16_t>(count);
    code_.nregs = static_cast<uint16_t>(count);
    next_ = count;
}

Reg CodeBuilder::push(uint32_t count) {
    uint32_t first = next_;
    next_ += count;
    if (next_ > kMaxIndex) fail("too many values in one expression");
    if (next_ > code_.nregs) code_.nregs = static_cast<uint16_t>(next_);
    return static_cast<Reg>(first);
}

// ---- protected regions

CodeBuilder::Region CodeBuilder::open_region(LabelId handler, Reg reg) {
    Region region;
    region.handler = handler;
    region.reg = reg;
    region.begin = position();
    return region;
}

void CodeBuilder::suspend(Region& region) {
    if (position() > region.begin) region.parts.emplace_back(region.begin, position());
}

void CodeBuilder::close_region(Region& region) {
    suspend(region);
    for (auto [begin, end] : region.parts) {
        // Parts that touch are one.
        bool extends =
            !handlers_.empty() && handlers_.back().end == begin && handlers_.back().handler == region.handler;
        if (extends) {
            handlers_.back().end = end;
        } else {
            handlers_.push_back({begin, end, region.handler, region.reg});
        }
    }
    if (!region.parts.empty()) labels_[region.handler].used = true;
}

// ---- finishing

// Where a jump to `target` ends when it first meets other jumps.
uint32_t CodeBuilder::final_target(uint32_t target) const {
    for (int steps = 0; steps < 16; steps++) {
        const Instr& instr = code_.instrs[target];
        if (instr.op != Op::JUMP) break;
        target = static_cast<uint32_t>(static_cast<int64_t>(target) + 1 + instr.bc());
    }
    return target;
}

void CodeBuilder::finish() {
    auto offset_to = [&](uint32_t from, uint32_t target) {
        return static_cast<int64_t>(target) - static_cast<int64_t>(from) - 1;
    };
    for (const Fixup& fixup : fixups_) {
        if (fixup.narrow) continue;
        auto target = static_cast<uint32_t>(labels_[fixup.label].position);
        code_.instrs[fixup.instruction].set_bc(static_cast<int32_t>(offset_to(fixup.instruction, target)));
    }
    for (const Fixup& fixup : fixups_) {
        Instr& instr = code_.instrs[fixup.instruction];
        auto target = static_cast<uint32_t>(labels_[fixup.label].position);
        bool forward = target > fixup.instruction;
        // Jumps back stay as they are: they count the loop's heat and poll its limits.
        if (forward) {
            uint32_t final = final_target(target);
            if (final > fixup.instruction) target = final;
        }
        int64_t offset = offset_to(fixup.instruction, target);
        if (!fixup.narrow) {
            instr.set_bc(static_cast<int32_t>(offset));
        } else {
            if (offset != static_cast<int16_t>(offset)) throw JumpTooFar{};
            instr.c = static_cast<uint16_t>(static_cast<int16_t>(offset));
        }
    }
    code_.handlers.reserve(handlers_.size());
    for (const PendingHandler& handler : handlers_) {
        auto target = static_cast<uint32_t>(labels_[handler.handler].position);
        code_.handlers.push_back({handler.begin, handler.end, target, handler.reg});
    }
}

}  // namespace talc::lang
