#pragma once
// What the compiler hands to the VM: one Code for each function, class body, comprehension and module.
// Plain data, no VM objects, so that it can be dumped, verified, cached and loaded by any engine.
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "base/source.hpp"
#include "base/span.hpp"
#include "lang/opcodes.hpp"

namespace talc::lang {

struct Constant;
struct NoneConstant {};
struct EllipsisConstant {};
struct BytesConstant {
    std::string data;
};
struct TupleConstant {
    std::vector<Constant> items;
};

struct Constant {
    std::variant<NoneConstant, bool, int64_t, double, std::string, BytesConstant, TupleConstant, EllipsisConstant> value;
    // Same type and same bits: 1, 1.0 and True are three constants, as are 0.0 and -0.0.
    bool same_as(const Constant& other) const;
};

// A cell that a function takes from the function around it when it is made.
struct Capture {
    bool from_register;  // true: the cell in the maker's register `index`; false: the maker's own capture `index`
    uint16_t index;
    std::string name;
};

// Instructions [begin, end) are protected: an exception goes to `target` with the exception in register
// `reg`. Inner entries come before outer ones.
struct Handler {
    uint32_t begin, end, target;
    uint16_t reg;
};

// A parameter stands in its register: positional ones first (positional-only, then plain), then keyword-only,
// then *args, then **kwargs; other locals and the cells follow, temporaries last. A parameter that is
// captured becomes a cell in its own register (MAKE_CELL at the start).
struct Code {
    std::string name;      // f
    std::string qualname;  // Outer.f.<locals>.g
    std::shared_ptr<const Source> source;
    Span span;  // the whole definition

    uint16_t positional_only = 0;
    uint16_t positional = 0;  // including the positional-only ones
    uint16_t keyword_only = 0;
    bool has_varargs = false;
    bool has_varkw = false;
    bool is_generator = false;
    bool is_class_body = false;  // R[0] is the namespace; returns the __class__ cell if it has one, else None
    bool is_module = false;

    uint16_t nlocals = 0;  // parameters, locals and cells: registers below this are not temporaries
    uint16_t nregs = 0;

    std::vector<std::string> local_names;  // of registers [0, nlocals); empty for a hidden one
    std::vector<Instr> instrs;
    std::vector<Span> spans;  // parallel to instrs
    std::vector<Constant> constants;
    std::vector<std::string> names;
    std::vector<std::string> globals;  // names of LOAD_GLOBAL and of the class body's names
    std::vector<uint32_t> sites;       // index into names; each attribute access has a site of its own
    std::vector<Capture> captures;
    std::vector<Handler> handlers;
    std::vector<std::unique_ptr<Code>> codes;
    int32_t doc = -1;  // constant with the docstring, -1 if there is none

};

}  // namespace talc::lang
