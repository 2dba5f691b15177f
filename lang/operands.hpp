#pragma once
// Which registers an instruction touches, as its row in opcodes.def says; one place for the verifier, and for
// whoever else walks code.
#include <cstdint>

#include "lang/code.hpp"

namespace talc::lang {

enum class Access : uint8_t {
    Read,    // read; a temporary is consumed
    Keep,    // read and kept
    Write,   // written
    Clear,   // unbound afterwards, whatever it was
    Update,  // written; may be unbound before
};

// Calls visit(first register, how many, access), reads before writes.
template <class Visit>
void for_each_register(const Instr& instr, const Visit& visit);

// How many registers the range operand of `instr` spans.
uint32_t range_length(const Instr& instr);

// The jump's target when `instr` stands at `at`, or -1 if it does not jump.
int64_t jump_target(const Instr& instr, uint32_t at);

// Control does not go on after it.
bool ends_block(Op op);

// ---- implementation

template <class Visit>
void for_each_register(const Instr& instr, const Visit& visit) {
    const OpInfo& info = op_info(instr.op);
    switch (info.base) {
        case Op::MAKE_FUNCTION:
            for (uint16_t i = 0; i < 3; i++) {
                if ((instr.c >> i & 1) != 0) visit(uint32_t{instr.a} + i, 1u, Access::Read);
            }
            return visit(uint32_t{instr.a}, 1u, Access::Write);
        case Op::RAISE_ASSERT:
            if (instr.b != 0) visit(uint32_t{instr.a}, 1u, Access::Read);
            return;
        case Op::DELETE_LOCAL:
            return visit(uint32_t{instr.a}, 1u, Access::Clear);
        case Op::CLEAR:
            return visit(uint32_t{instr.a}, 1u, Access::Clear);
        case Op::MAKE_CELL:
            return visit(uint32_t{instr.a}, 1u, Access::Update);
        case Op::CHECK_BOUND:
            return visit(uint32_t{instr.a}, 1u, Access::Update);
        case Op::UNPACK:
            visit(uint32_t{instr.b}, 1u, Access::Read);
            return visit(uint32_t{instr.a}, uint32_t{instr.c}, Access::Write);
        case Op::UNPACK_STAR:
            visit(uint32_t{instr.b}, 1u, Access::Read);
            return visit(uint32_t{instr.a}, uint32_t{instr.c} % 256 + uint32_t{instr.c} / 256 + 1,
                         Access::Write);
        default:
            break;
    }
    const Role roles[] = {info.a, info.b, info.c};
    const uint16_t operands[] = {instr.a, instr.b, instr.c};
    for (int i = 0; i < 3; i++) {
        switch (roles[i]) {
            case Role::rd:
                visit(uint32_t{operands[i]}, 1u, Access::Read);
                break;
            case Role::keep:
                visit(uint32_t{operands[i]}, 1u, Access::Keep);
                break;
            case Role::rw:
                visit(uint32_t{operands[i]}, 1u, Access::Keep);
                break;
            case Role::regs:
                visit(uint32_t{operands[i]}, range_length(instr), Access::Read);
                break;
            default:
                break;
        }
    }
    for (int i = 0; i < 3; i++) {
        if (roles[i] == Role::wr) visit(uint32_t{operands[i]}, 1u, Access::Write);
        if (roles[i] == Role::wr2) visit(uint32_t{operands[i]}, 2u, Access::Write);
    }
}

}  // namespace talc::lang
