// Variables: loading, storing, deleting.
#include "lang/compiler_impl.hpp"

namespace talc::lang {

// The symbol of a name that lives in a register of its own, else null.
const Symbol* Compiler::local_symbol(Expr* expr) const {
    auto* name = as_if<NameExpr>(expr);
    if (name == nullptr) return nullptr;
    const Symbol* symbol = variable(name->id);
    return symbol != nullptr && symbol->storage == Storage::Local ? symbol : nullptr;
}

// Names that the source does not mention (__annotations__, __doc__) have no symbol.
Storage Compiler::storage_of(const Symbol* symbol) const {
    if (symbol != nullptr) return symbol->storage;
    return unit_->scope->kind == ScopeKind::Class ? Storage::Name : Storage::Global;
}

void Compiler::check_bound(const Symbol& symbol) {
    if (builder_->bound().contains(symbol.index) && !symbol.has(kUnbindable)) return;
    builder_->emit(Op::CHECK_BOUND, symbol.index, builder_->name(text(symbol.name)));
    mark_bound(symbol.index);
}

void Compiler::load_variable(NameId name, Reg dest) {
    if (name == dunder_debug_) return builder_->emit(Op::LOAD_TRUE, dest);
    const Symbol* symbol = variable(name);
    Storage storage = storage_of(symbol);
    switch (storage) {
        case Storage::Local:
            check_bound(*symbol);
            return move(dest, symbol->index);
        case Storage::Cell:
            return builder_->emit(Op::LOAD_CELL, dest, symbol->index);
        case Storage::Free:
            return builder_->emit(Op::LOAD_FREE, dest, symbol->index);
        case Storage::ClassFree:
            return builder_->emit(Op::LOAD_CLASS_FREE, dest, symbol->index);
        case Storage::Name:
            return builder_->emit_wide(Op::LOAD_NAME, dest, builder_->global(text(name)));
        case Storage::Global:
            return builder_->emit_wide(Op::LOAD_GLOBAL, dest, builder_->global(text(name)));
    }
}

void Compiler::store_variable(NameId name, Reg source) {
    const Symbol* symbol = variable(name);
    Storage storage = storage_of(symbol);
    switch (storage) {
        case Storage::Local:
            move(symbol->index, source);
            return mark_bound(symbol->index);
        case Storage::Cell:
            return builder_->emit(Op::STORE_CELL, symbol->index, source);
        case Storage::Free:
            return builder_->emit(Op::STORE_FREE, source, symbol->index);
        case Storage::ClassFree:
        case Storage::Name:
            return builder_->emit_wide(Op::STORE_NAME, source, builder_->global(text(name)));
        case Storage::Global:
            return builder_->emit_wide(Op::STORE_GLOBAL, source, builder_->global(text(name)));
    }
}

void Compiler::delete_variable(NameId name) {
    const Symbol* symbol = variable(name);
    Storage storage = storage_of(symbol);
    switch (storage) {
        case Storage::Local:
            return builder_->emit(Op::DELETE_LOCAL, symbol->index, builder_->name(text(name)));
        case Storage::Cell:
            return builder_->emit(Op::DELETE_CELL, symbol->index);
        case Storage::Free:
            return builder_->emit(Op::DELETE_FREE, 0, symbol->index);
        case Storage::ClassFree:
        case Storage::Name:
            return builder_->emit_wide(Op::DELETE_NAME, 0, builder_->global(text(name)));
        case Storage::Global:
            return builder_->emit_wide(Op::DELETE_GLOBAL, 0, builder_->global(text(name)));
    }
}

// The end of `except E as name`: the name is unbound whether or not the handler unbound it before.
void Compiler::unbind_quietly(NameId name) {
    const Symbol* symbol = variable(name);
    if (symbol != nullptr && symbol->storage == Storage::Local)
        return builder_->emit(Op::CLEAR, symbol->index);
    uint32_t top = builder_->top();
    Reg none = builder_->push();
    load_none(none);
    store_variable(name, none);
    delete_variable(name);
    builder_->pop_to(top);
}

}  // namespace talc::lang
