#pragma once
// The opcodes as an enum, and what their rows in opcodes.def say.
#include <cstdint>

namespace talc::lang {

enum class Op : uint16_t {
#define OP(name, a, b, c, doc) name,
#define QUICK(name, base) name,
#include "lang/opcodes.def"
};

constexpr int kOpCount = 0
#define OP(name, a, b, c, doc) +1
#define QUICK(name, base) +1
#include "lang/opcodes.def"
    ;

enum class Role : uint8_t {
    none, wr, wr2, rd, keep, rw, regs, count, imm, konst, name, site, code, free, jump16, jump, glob, int32,
};

struct OpInfo {
    const char* name;
    Role a, b, c;
    const char* doc;
    Op base;  // itself, or the opcode that a quickened form falls back to
};

const OpInfo& op_info(Op op);

struct Instr {
    Op op = Op::NOP;
    uint16_t a = 0;
    uint16_t b = 0;
    uint16_t c = 0;

    int32_t bc() const { return static_cast<int32_t>(static_cast<uint32_t>(b) | static_cast<uint32_t>(c) << 16); }
    void set_bc(int32_t value) {
        b = static_cast<uint16_t>(static_cast<uint32_t>(value));
        c = static_cast<uint16_t>(static_cast<uint32_t>(value) >> 16);
    }
    int16_t jump16() const { return static_cast<int16_t>(c); }
};
static_assert(sizeof(Instr) == 8);

}  // namespace talc::lang
