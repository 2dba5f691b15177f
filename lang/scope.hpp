#pragma once
// Which variable a name means: locals, cells, captured cells, globals, class namespaces.
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "lang/ast.hpp"
#include "lang/syntax_error.hpp"

namespace talc::lang {

enum class ScopeKind : uint8_t { Module, Class, Function, Lambda, ListComp, SetComp, DictComp, GeneratorExp };

// Where the value of a name lies, seen from the code of its scope.
enum class Storage : uint8_t {
    Global,     // a global or builtin
    Local,      // a register
    Cell,       // a cell in a register: an inner function uses it too
    Free,       // a captured cell
    Name,       // the class body's namespace, else global or builtin
    ClassFree,  // the class body's namespace, else a captured cell
};

enum SymbolFlags : uint16_t {
    kAssigned = 1,
    kUsed = 2,
    kParameter = 4,
    kDeclaredGlobal = 8,
    kDeclaredNonlocal = 16,
    kAnnotated = 32,
    kUnbindable = 64,    // deleted somewhere: a read must check that it is bound
    kIteration = 128,    // target of a comprehension's `for`
    kCaptured = 256,     // an inner function uses it
    kNamedTarget = 512,  // a walrus inside this comprehension assigns it, outside
};

struct Symbol {
    NameId name{};
    uint16_t flags = 0;
    Storage storage = Storage::Global;
    uint16_t index = 0;  // register (Local, Cell) or capture (Free, ClassFree)

    bool has(uint16_t wanted) const { return (flags & wanted) != 0; }
    bool is_bound() const { return has(kAssigned | kParameter) && !has(kDeclaredGlobal | kDeclaredNonlocal); }
};

// Symbols in order of first appearance.
class SymbolTable {
  public:
    Symbol* find(NameId name);
    const Symbol* find(NameId name) const { return const_cast<SymbolTable*>(this)->find(name); }
    Symbol& get(NameId name);  // added when missing
    std::vector<Symbol>& all() { return symbols_; }
    const std::vector<Symbol>& all() const { return symbols_; }

  private:
    void rehash();

    std::vector<Symbol> symbols_;
    std::vector<uint32_t> slots_;  // index + 1, once there are more than a handful
};

struct CaptureSource {
    NameId name{};
    bool from_register = false;
    uint16_t index = 0;
};

struct Scope {
    ScopeKind kind = ScopeKind::Module;
    NameId name{};
    NameId class_name = kNoName;  // of the class around it, for private names
    Scope* parent = nullptr;
    const Arguments* args = nullptr;
    SymbolTable symbols;
    std::vector<CaptureSource> captures;
    bool is_generator = false;
    bool inlined = false;          // a comprehension whose code is part of the code around it
    bool has_class_cell = false;   // a class whose methods use __class__ or super()
    bool has_walrus = false;       // an expression may assign to a local
    bool has_annotations = false;  // a module or class with annotated variables
    uint16_t class_cell_register = 0;
    uint32_t local_count = 0;  // registers below the temporaries

    bool is_comprehension() const { return kind >= ScopeKind::ListComp; }
    bool is_function() const { return kind >= ScopeKind::Function; }
    // The scope whose code this scope's code is part of.
    Scope* code_scope() {
        Scope* scope = this;
        while (scope->inlined) scope = scope->parent;
        return scope;
    }
};

// The variable that `name` means in `scope`, which may be an inlined comprehension.
Symbol* find_variable(Scope* scope, NameId name);

struct ScopeTree {
    std::deque<Scope> scopes;  // the module's first, inner ones after the one around them
    std::vector<std::pair<NameId, Span>> nonlocals;  // each declaration
    bool annotations_are_text = false;               // from __future__ import annotations
    std::optional<SyntaxError> error;
};

// Resolves every name of the module. Sets the scopes of its function, class and comprehension nodes, and
// rewrites private names (__x in a class) in place.
void resolve_scopes(Module& module, NameTable& names, ScopeTree& tree);

}  // namespace talc::lang
