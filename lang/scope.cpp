#include "lang/scope.hpp"

#include <algorithm>

#include "lang/scope_builder.hpp"

namespace talc::lang {

namespace {

constexpr size_t kLinearSearch = 8;

uint32_t hash_of(NameId name) { return static_cast<uint32_t>(name) * 2654435769u; }

}  // namespace

Symbol* SymbolTable::find(NameId name) {
    if (slots_.empty()) {
        for (Symbol& symbol : symbols_) {
            if (symbol.name == name) return &symbol;
        }
        return nullptr;
    }
    size_t mask = slots_.size() - 1;
    for (size_t slot = hash_of(name) & mask; slots_[slot] != 0; slot = (slot + 1) & mask) {
        Symbol& symbol = symbols_[slots_[slot] - 1];
        if (symbol.name == name) return &symbol;
    }
    return nullptr;
}

Symbol& SymbolTable::get(NameId name) {
    if (Symbol* symbol = find(name)) return *symbol;
    symbols_.push_back({name, 0, Storage::Global, 0});
    if (symbols_.size() > kLinearSearch) {
        if (symbols_.size() * 2 > slots_.size()) {
            rehash();
        } else {
            size_t mask = slots_.size() - 1;
            size_t slot = hash_of(name) & mask;
            while (slots_[slot] != 0) slot = (slot + 1) & mask;
            slots_[slot] = static_cast<uint32_t>(symbols_.size());
        }
    }
    return symbols_.back();
}

void SymbolTable::rehash() {
    slots_.assign(slots_.empty() ? 32 : slots_.size() * 2, 0);
    size_t mask = slots_.size() - 1;
    for (uint32_t i = 0; i < symbols_.size(); i++) {
        size_t slot = hash_of(symbols_[i].name) & mask;
        while (slots_[slot] != 0) slot = (slot + 1) & mask;
        slots_[slot] = i + 1;
    }
}

Symbol* find_variable(Scope* scope, NameId name) {
    while (true) {
        Symbol* symbol = scope->symbols.find(name);
        bool here = !scope->inlined || (symbol != nullptr && symbol->is_bound());
        if (here) return symbol;
        scope = scope->parent;
    }
}

namespace {

// The second half: which scope owns each name, which comprehensions are inlined, and where everything lies.
class Resolver {
  public:
    Resolver(NameTable& names, ScopeTree& tree) : names_(names), tree_(tree) {
        dunder_class_ = names.intern("__class__");
    }

    void run() {
        // Scopes are in the order of their beginnings: inner ones come after the one around them.
        for (size_t i = tree_.scopes.size(); i-- > 0;) find_owners(tree_.scopes[i]);
        for (Scope& scope : tree_.scopes) {
            if (!scope.inlined) place_locals(scope);
        }
        for (Scope& scope : tree_.scopes) {
            if (scope.inlined) place_hidden(scope);
        }
        for (Scope& scope : tree_.scopes) {
            if (!scope.inlined) place_free(scope);
        }
    }

  private:
    static constexpr uint32_t kMaxLocals = 40000;

    // The function or class whose cell `name` is, seen from inside `scope`'s children; null if it is global.
    Scope* find_owner(Scope* scope, NameId name) const {
        for (; scope != nullptr; scope = scope->parent) {
            if (scope->kind == ScopeKind::Class) {
                if (name == dunder_class_) return scope;
                continue;
            }
            if (scope->kind == ScopeKind::Module) return nullptr;
            const Symbol* symbol = scope->symbols.find(name);
            if (symbol == nullptr) continue;
            if (symbol->has(kDeclaredGlobal)) return nullptr;
            if (symbol->is_bound()) return scope;
        }
        return nullptr;
    }

    static bool may_inline(const Scope& scope) {
        if (!scope.is_comprehension() || scope.is_generator) return false;
        if (scope.parent->kind == ScopeKind::Class) return false;
        for (const Symbol& symbol : scope.symbols.all()) {
            if (symbol.has(kCaptured)) return false;
        }
        return true;
    }

    void find_owners(Scope& scope) {
        if (may_inline(scope)) {
            scope.inlined = true;
            for (const Symbol& symbol : scope.symbols.all()) {
                if (!symbol.is_bound()) scope.parent->symbols.get(symbol.name).flags |= kUsed;
            }
            return;
        }
        if (scope.kind == ScopeKind::Module) return;
        for (const Symbol& symbol : scope.symbols.all()) {
            if (symbol.is_bound() || symbol.has(kDeclaredGlobal)) continue;
            Scope* owner = find_owner(scope.parent, symbol.name);
            if (owner == nullptr) {
                if (symbol.has(kDeclaredNonlocal)) fail_nonlocal(symbol);
                continue;
            }
            if (owner->kind == ScopeKind::Class) {
                owner->has_class_cell = true;
            } else {
                owner->symbols.get(symbol.name).flags |= kCaptured;
            }
        }
    }

    [[noreturn]] void fail_nonlocal(const Symbol& symbol) const {
        std::string message = fmt::format("no binding for nonlocal '{}' found", names_.text(symbol.name));
        throw ScopeFailure{
            SyntaxError{std::move(message), nonlocal_span(symbol.name), SyntaxErrorKind::Syntax, false}};
    }

    Span nonlocal_span(NameId name) const {
        for (const auto& [declared, span] : tree_.nonlocals) {
            if (declared == name) return span;
        }
        return {};
    }

    uint16_t next_register(Scope& scope) const {
        if (scope.local_count >= kMaxLocals) {
            throw ScopeFailure{
                SyntaxError{"too many local variables in one function", {}, SyntaxErrorKind::Syntax, false}};
        }
        return static_cast<uint16_t>(scope.local_count++);
    }

    void place_locals(Scope& scope) {
        if (scope.kind == ScopeKind::Class) {
            scope.local_count = 1;  // the namespace
            if (scope.has_class_cell) scope.class_cell_register = next_register(scope);
        }
        // Parameters were bound first, in the order of their registers.
        for (Symbol& symbol : scope.symbols.all()) {
            if (symbol.has(kDeclaredGlobal)) {
                symbol.storage = Storage::Global;
            } else if (scope.kind == ScopeKind::Module) {
                symbol.storage = Storage::Global;
            } else if (scope.kind == ScopeKind::Class) {
                symbol.storage = Storage::Name;
            } else if (symbol.is_bound()) {
                symbol.storage = symbol.has(kCaptured) ? Storage::Cell : Storage::Local;
                symbol.index = next_register(scope);
            }
        }
    }

    // Variables of an inlined comprehension are registers of the code around it. Those of comprehensions that
    // stand side by side could be shared; they are not, so that a variable is one register for its whole
    // life.
    void place_hidden(Scope& scope) {
        Scope& code = *scope.code_scope();
        for (Symbol& symbol : scope.symbols.all()) {
            bool needs_register = symbol.is_bound() && !symbol.has(kParameter);
            if (!needs_register) continue;
            symbol.storage = Storage::Local;
            symbol.index = next_register(code);
        }
    }

    void place_free(Scope& scope) {
        if (scope.kind == ScopeKind::Module) return;
        for (Symbol& symbol : scope.symbols.all()) {
            if (symbol.is_bound() || symbol.has(kDeclaredGlobal)) continue;
            Scope* owner = find_owner(scope.parent, symbol.name);
            if (owner == nullptr) continue;
            bool through_namespace = scope.kind == ScopeKind::Class && !symbol.has(kDeclaredNonlocal);
            symbol.storage = through_namespace ? Storage::ClassFree : Storage::Free;
            symbol.index = capture(scope, symbol.name, owner);
        }
    }

    // The capture of `name` in `scope`, made along the whole chain of functions from its owner.
    uint16_t capture(Scope& scope, NameId name, Scope* owner) {
        for (size_t i = 0; i < scope.captures.size(); i++) {
            if (scope.captures[i].name == name) return static_cast<uint16_t>(i);
        }
        Scope* maker = scope.parent->code_scope();
        CaptureSource source{name, maker == owner, 0};
        if (maker != owner) {
            source.index = capture(*maker, name, owner);
        } else if (owner->kind == ScopeKind::Class) {
            source.index = owner->class_cell_register;
        } else {
            source.index = owner->symbols.find(name)->index;
        }
        scope.captures.push_back(source);
        return static_cast<uint16_t>(scope.captures.size() - 1);
    }

    NameTable& names_;
    ScopeTree& tree_;
    NameId dunder_class_{};
};

}  // namespace

void resolve_scopes(Module& module, NameTable& names, ScopeTree& tree) {
    try {
        ScopeBuilder(names, tree).build(module);
        Resolver(names, tree).run();
    } catch (ScopeFailure& failure) {
        tree.error = std::move(failure.error);
    }
}

}  // namespace talc::lang
