#include "lang/verifier.hpp"

#include <fmt/format.h>

#include "lang/bit_set.hpp"
#include "lang/operands.hpp"

namespace talc::lang {

namespace {

struct Defect {
    std::string message;
};

class Verifier {
  public:
    Verifier(const Code& code, const Code* maker) : code_(code), maker_(maker) {}

    void run() {
        check_tables();
        for (uint32_t i = 0; i < size(); i++) check_instruction(i);
        check_handlers();
        check_flow();
        for (const auto& nested : code_.codes) {
            if (nested == nullptr) fail("a nested code is missing");
            Verifier(*nested, &code_).run();
        }
    }

  private:
    uint32_t size() const { return static_cast<uint32_t>(code_.instrs.size()); }
    [[noreturn]] void fail(const std::string& message) const {
        throw Defect{fmt::format("{}: {}", code_.qualname, message)};
    }
    [[noreturn]] void fail_at(uint32_t at, const std::string& message) const {
        std::string_view name =
            static_cast<int>(code_.instrs[at].op) < kOpCount ? op_info(code_.instrs[at].op).name : "?";
        fail(fmt::format("instruction {} ({}): {}", at, name, message));
    }

    void check_tables() const {
        if (code_.instrs.empty()) fail("no instructions");
        if (code_.spans.size() != code_.instrs.size()) fail("spans and instructions differ in number");
        if (code_.nlocals > code_.nregs) fail("more locals than registers");
        if (code_.local_names.size() != code_.nlocals) fail("names of locals and locals differ in number");
        if (code_.positional_only > code_.positional) fail("more positional-only than positional parameters");
        uint32_t parameters =
            uint32_t{code_.positional} + code_.keyword_only + code_.has_varargs + code_.has_varkw;
        if (parameters > code_.nlocals) fail("more parameters than locals");
        if (code_.is_class_body && code_.nlocals == 0)
            fail("a class body without a register for its namespace");
        for (uint32_t site : code_.sites) {
            if (site >= code_.names.size()) fail("a site's name is out of range");
        }
        if (code_.doc >= static_cast<int64_t>(code_.constants.size())) fail("the docstring is out of range");
        for (const Capture& capture : code_.captures) {
            if (maker_ == nullptr) fail("the outermost code captures a cell");
            size_t limit = capture.from_register ? maker_->nlocals : maker_->captures.size();
            if (capture.index >= limit) fail("a capture is out of range");
        }
    }

    void check_index(uint32_t at, size_t index, size_t limit, std::string_view what) const {
        if (index >= limit) fail_at(at, fmt::format("{} {} is out of range ({})", what, index, limit));
    }

    void check_operand(uint32_t at, Role role, uint16_t operand) const {
        switch (role) {
            case Role::konst:
                return check_index(at, operand, code_.constants.size(), "constant");
            case Role::name:
                return check_index(at, operand, code_.names.size(), "name");
            case Role::site:
                return check_index(at, operand, code_.sites.size(), "site");
            case Role::code:
                return check_index(at, operand, code_.codes.size(), "code");
            case Role::free:
                return check_index(at, operand, code_.captures.size(), "capture");
            case Role::none:
                if (operand != 0) fail_at(at, "an unused operand is not 0");
                return;
            default:
                return;
        }
    }

    void check_instruction(uint32_t at) const {
        const Instr& instr = code_.instrs[at];
        if (static_cast<int>(instr.op) >= kOpCount) fail_at(at, "no such opcode");
        const OpInfo& info = op_info(instr.op);
        check_operand(at, info.a, instr.a);
        bool wide = info.b == Role::jump || info.b == Role::glob || info.b == Role::int32;
        if (!wide) {
            check_operand(at, info.b, instr.b);
            check_operand(at, info.c, instr.c);
        }
        if (info.b == Role::glob) {
            if (instr.bc() < 0) fail_at(at, "global is negative");
            check_index(at, static_cast<size_t>(instr.bc()), code_.globals.size(), "global");
        }
        for_each_register(instr, [&](uint32_t first, uint32_t count, Access) {
            if (count != 0 && first + count > code_.nregs)
                fail_at(at, fmt::format("register {} is out of range", first + count - 1));
        });
        check_jump(at);
        check_extra(at);
        bool in_namespace = info.base == Op::LOAD_NAME || info.base == Op::STORE_NAME ||
                            info.base == Op::DELETE_NAME || info.base == Op::LOAD_CLASS_FREE;
        if (in_namespace && !code_.is_class_body) fail_at(at, "only a class body has a namespace");
        bool yields = info.base == Op::YIELD || info.base == Op::YIELD_FROM;
        if (yields && !code_.is_generator) fail_at(at, "not in a generator");
        if (at + 1 == size() && !ends_block(instr.op)) fail_at(at, "control runs off the end");
    }

    void check_jump(uint32_t at) const {
        const Instr& instr = code_.instrs[at];
        const OpInfo& info = op_info(instr.op);
        if (info.b != Role::jump && info.c != Role::jump16) return;
        int64_t target = jump_target(instr, at);
        if (target < 0 || target >= size()) fail_at(at, "jump out of the code");
        if (code_.instrs[static_cast<size_t>(target)].op == Op::EXTRA) fail_at(at, "jump to operands");
        bool back = info.base == Op::JUMP_BACK || info.base == Op::FOR_NEXT;
        if (back != (target <= at)) fail_at(at, "jump in the wrong direction");
    }

    static bool takes_extra(Op op) { return op == Op::CALL_KW || op == Op::CALL_METHOD_KW; }

    void check_extra(uint32_t at) const {
        const Instr& instr = code_.instrs[at];
        if (instr.op == Op::EXTRA && (at == 0 || !takes_extra(code_.instrs[at - 1].op))) {
            fail_at(at, "operands without an instruction");
        }
        if (!takes_extra(instr.op)) return;
        if (at + 1 >= size() || code_.instrs[at + 1].op != Op::EXTRA) fail_at(at, "no operands after it");
        uint16_t index = code_.instrs[at + 1].a;
        check_index(at, index, code_.constants.size(), "constant");
        const auto* names = std::get_if<TupleConstant>(&code_.constants[index].value);
        if (names == nullptr) fail_at(at, "the names of keywords are no tuple");
        for (const Constant& name : names->items) {
            if (!std::holds_alternative<std::string>(name.value))
                fail_at(at, "the name of a keyword is no string");
        }
        if (names->items.size() > instr.c) fail_at(at, "more keywords than arguments");
    }

    void check_handlers() const {
        for (const Handler& handler : code_.handlers) {
            if (handler.begin >= handler.end || handler.end > size())
                fail("a protected region is out of range");
            if (handler.target >= size()) fail("a handler is out of range");
            if (code_.instrs[handler.target].op == Op::EXTRA) fail("a handler begins with operands");
            if (handler.reg >= code_.nregs) fail("a handler's register is out of range");
        }
    }

    // ---- which registers are bound where: every way to an instruction must bind what it reads

    struct State {
        bool reached = false;
        BitSet bound;
    };

    void check_flow() {
        states_.assign(size(), State{});
        State start;
        start.reached = true;
        uint32_t parameters =
            uint32_t{code_.positional} + code_.keyword_only + code_.has_varargs + code_.has_varkw;
        if (code_.is_class_body) parameters = 1;
        for (uint32_t i = 0; i < parameters; i++) start.bound.add(i);
        flow_into(0, start.bound);
        while (!work_.empty()) {
            uint32_t at = work_.back();
            work_.pop_back();
            queued_[at] = false;
            step(at);
        }
    }

    void flow_into(uint32_t at, const BitSet& bound) {
        if (queued_.empty()) queued_.assign(size(), false);
        State& state = states_[at];
        BitSet merged = bound;
        if (state.reached) {
            merged.intersect(state.bound);
            if (merged == state.bound) return;
        }
        state.reached = true;
        state.bound = merged;
        if (!queued_[at]) {
            queued_[at] = true;
            work_.push_back(at);
        }
    }

    // An exception may leave before the instruction has done anything, or after it consumed its operands.
    void flow_into_handlers(uint32_t at, const BitSet& before, const BitSet& after) {
        for (const Handler& handler : code_.handlers) {
            if (at < handler.begin || at >= handler.end) continue;
            BitSet bound = before;
            bound.intersect(after);
            bound.add(handler.reg);
            flow_into(handler.target, bound);
            return;
        }
    }

    void step(uint32_t at) {
        const Instr& instr = code_.instrs[at];
        Op base = op_info(instr.op).base;
        BitSet bound = states_[at].bound;
        BitSet before = bound;
        for_each_register(instr, [&](uint32_t first, uint32_t count, Access access) {
            for (uint32_t reg = first; reg < first + count; reg++) {
                switch (access) {
                    case Access::Read:
                    case Access::Keep:
                        if (!bound.contains(reg)) {
                            fail_at(at, fmt::format("register {} may be unbound", reg));
                        }
                        if (access == Access::Read && reg >= code_.nlocals) bound.remove(reg);
                        break;
                    case Access::Write:
                    case Access::Update:
                        bound.add(reg);
                        break;
                    case Access::Clear:
                        bound.remove(reg);
                        break;
                }
            }
        });
        flow_into_handlers(at, before, bound);
        int64_t target = jump_target(instr, at);
        if (base == Op::FOR_NEXT) {
            flow_into(static_cast<uint32_t>(target), bound);
            BitSet done = before;
            done.remove(instr.a);
            return flow_into(at + 1, done);
        }
        if (target >= 0) flow_into(static_cast<uint32_t>(target), bound);
        if (!ends_block(instr.op)) flow_into(at + 1, bound);
    }

    const Code& code_;
    const Code* maker_;
    std::vector<State> states_;
    std::vector<uint32_t> work_;
    std::vector<bool> queued_;
};

}  // namespace

std::string verify(const Code& code) {
    try {
        Verifier(code, nullptr).run();
    } catch (const Defect& defect) {
        return defect.message;
    }
    return {};
}

}  // namespace talc::lang
