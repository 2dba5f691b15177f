#pragma once
// One Code in the making: instructions, jumps, constants, registers, protected regions.
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lang/ast.hpp"
#include "lang/bit_set.hpp"
#include "lang/code.hpp"
#include "lang/syntax_error.hpp"

namespace talc::lang {

using Reg = uint16_t;

// The program is too large for the instruction format, or nested too deeply.
struct CompileFailure {
    SyntaxError error;
};
// A jump did not fit 16 bits: the function is compiled again without the instructions that need it.
struct JumpTooFar {};

// A place in the code to jump to. The set of locals that are surely bound there is the intersection over all
// ways that lead to it.
struct Label {
    int32_t position = -1;
    bool used = false;
    BitSet bound;
};
using LabelId = uint32_t;

class CodeBuilder {
  public:
    CodeBuilder(Code& code, bool long_jumps) : code_(code), long_jumps_(long_jumps) {}

    Code& code() { return code_; }
    bool long_jumps() const { return long_jumps_; }

    // ---- where errors of the next instructions point
    Span span() const { return span_; }
    void set_span(Span span) { span_ = span; }

    // ---- instructions; none is added where control cannot come
    bool reachable() const { return reachable_; }
    void set_reachable(bool reachable) { reachable_ = reachable; }
    void emit(Op op, Reg a = 0, uint16_t b = 0, uint16_t c = 0);
    void emit_wide(Op op, Reg a, int32_t bc);
    uint32_t position() const { return static_cast<uint32_t>(code_.instrs.size()); }

    // ---- jumps
    LabelId new_label();
    void bind(LabelId label);
    bool is_used(LabelId label) const { return labels_[label].used; }
    void jump(LabelId label) { emit_jump(Op::JUMP, 0, label); }
    void jump_back(LabelId label) { emit_jump(Op::JUMP_BACK, 0, label); }
    void emit_jump(Op op, Reg a, LabelId label);
    void emit_jump16(Op op, uint16_t a, uint16_t b, LabelId label);

    // ---- locals that are surely bound here
    BitSet& bound() { return bound_; }

    // ---- tables
    uint16_t constant(const ConstantValue& value);
    uint16_t text_constant(std::string_view text);
    uint16_t name(std::string_view text);
    uint16_t site(std::string_view text);
    int32_t global(std::string_view text);
    uint16_t nested(std::unique_ptr<Code> code);

    // ---- registers: locals below, then temporaries as a stack
    void set_local_count(uint32_t count);
    bool is_temporary(Reg reg) const { return reg >= code_.nlocals; }
    Reg push(uint32_t count = 1);
    uint32_t top() const { return next_; }
    void pop_to(uint32_t top) { next_ = top; }

    // ---- protected regions
    // Code between open_region and close_region, less what is emitted while the region is suspended.
    struct Region {
        LabelId handler;
        Reg reg;
        uint32_t begin = 0;
        std::vector<std::pair<uint32_t, uint32_t>> parts;
    };
    Region open_region(LabelId handler, Reg reg);
    void suspend(Region& region);
    void resume(Region& region) { region.begin = position(); }
    void close_region(Region& region);

    // Resolves the jumps. Throws JumpTooFar.
    void finish();

    [[noreturn]] void fail(std::string message) const;

  private:
    struct Fixup {
        uint32_t instruction;
        LabelId label;
        bool narrow;  // 16 bits
    };
    struct PendingHandler {
        uint32_t begin, end;
        LabelId handler;
        Reg reg;
    };
    struct TextHash {
        using is_transparent = void;
        size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    };
    using TextMap = std::unordered_map<std::string, uint32_t, TextHash, std::equal_to<>>;

    void use_label(LabelId label);
    uint32_t intern(TextMap& map, std::vector<std::string>& list, std::string_view text, uint32_t limit,
                    std::string_view what);
    void write_key(std::string& key, const ConstantValue& value) const;
    uint32_t final_target(uint32_t target) const;

    Code& code_;
    bool long_jumps_;
    bool reachable_ = true;
    Span span_;
    BitSet bound_;
    std::vector<Label> labels_;
    std::vector<Fixup> fixups_;
    std::vector<PendingHandler> handlers_;
    TextMap constants_;
    TextMap names_;
    TextMap globals_;
    std::string key_;
    uint32_t next_ = 0;
};

}  // namespace talc::lang
