#include "lang/operands.hpp"

namespace talc::lang {

uint32_t range_length(const Instr& instr) {
    switch (op_info(instr.op).base) {
        case Op::CALL:
        case Op::CALL_KW:
            return instr.c + 1u;
        case Op::CALL_METHOD:
        case Op::CALL_METHOD_KW:
            return instr.c + 2u;
        case Op::CALL_EX:
            return instr.c != 0 ? 3 : 2;
        case Op::BUILD_CLASS:
            return instr.c % 256u + instr.c / 256u + 2u;
        case Op::BUILD_LIST:
        case Op::BUILD_TUPLE:
        case Op::BUILD_SET:
        case Op::BUILD_STRING:
            return instr.c;
        case Op::BUILD_DICT:
            return instr.c * 2u;
        case Op::FORMAT:
            return (instr.c & 4) != 0 ? 2 : 1;
        case Op::SLICE:
        case Op::SUPER:
        case Op::SUPER_METHOD:
            return 2;
        case Op::BUILD_SLICE:
            return 3;
        default:
            return 0;
    }
}

int64_t jump_target(const Instr& instr, uint32_t at) {
    const OpInfo& info = op_info(instr.op);
    if (info.b == Role::jump) return int64_t{at} + 1 + instr.bc();
    if (info.c == Role::jump16) return int64_t{at} + 1 + instr.jump16();
    return -1;
}

bool ends_block(Op op) {
    switch (op_info(op).base) {
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

}  // namespace talc::lang
