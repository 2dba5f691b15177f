// try, with and their handlers. A protected region costs nothing until something is raised in it.
#include "lang/compiler_impl.hpp"

namespace talc::lang {

void Compiler::try_statement(TryStmt& node) {
    if (!node.finalbody.empty()) return try_finally(node);
    try_except(node);
}

// What an exception raised in a handler does: the one handled before is handled again, the new one goes on.
void Compiler::cleanup_handler(LabelId label, const Handling& handling, Reg raised, NameId name) {
    if (!builder_->is_used(label)) return;
    enter_handler(label, handling.bound);
    if (name != kNoName) unbind_quietly(name);
    builder_->emit(Op::POP_EXC, handling.saved);
    builder_->emit(Op::CLEAR, handling.exception);
    builder_->emit(Op::RERAISE, raised);
}

// Control comes here from anywhere in a protected region; only what was bound before it surely is.
void Compiler::enter_handler(LabelId label, const BitSet& bound) {
    builder_->set_reachable(true);
    builder_->bind(label);
    builder_->bound() = bound;
}

// Goes to `next` if the exception does not match.
void Compiler::match_clause(const ExceptHandler& clause, const Handling& handling, LabelId next) {
    if (clause.type == nullptr) return;
    uint32_t top = builder_->top();
    Reg match = builder_->push();
    Reg type = operand(clause.type, match);
    at(clause.type);
    builder_->emit(Op::MATCH_EXC, match, handling.exception, type);
    builder_->emit_jump(Op::JUMP_IF_NOT, match, next);
    builder_->pop_to(top);
}

void Compiler::handle_clause(const ExceptHandler& clause, const Handling& handling, LabelId done) {
    uint32_t top = builder_->top();
    LabelId cleanup = builder_->new_label();
    Reg raised = builder_->push();
    CodeBuilder::Region region = builder_->open_region(cleanup, raised);
    builder_->set_span(clause.span);
    if (clause.name != kNoName) {
        store_variable(clause.name, handling.exception);
    } else {
        builder_->emit(Op::CLEAR, handling.exception);
    }
    Block block{BlockKind::Handler};
    block.region = &region;
    block.saved = handling.saved;
    block.name = clause.name;
    push_block(block);
    body(clause.body);
    pop_block();
    builder_->close_region(region);
    if (clause.name != kNoName) unbind_quietly(clause.name);
    builder_->emit(Op::POP_EXC, handling.saved);
    builder_->jump(done);
    builder_->set_span(clause.span);
    cleanup_handler(cleanup, handling, raised, clause.name);
    builder_->pop_to(top);
}

void Compiler::try_except(TryStmt& node) {
    uint32_t top = builder_->top();
    Handling handling;
    handling.exception = builder_->push();
    handling.bound = builder_->bound();
    LabelId handler = builder_->new_label();
    LabelId done = builder_->new_label();
    CodeBuilder::Region region = builder_->open_region(handler, handling.exception);
    Block block{BlockKind::TryExcept};
    block.region = &region;
    push_block(block);
    body(node.body);
    pop_block();
    builder_->close_region(region);
    body(node.orelse);
    builder_->jump(done);
    if (builder_->is_used(handler)) {
        enter_handler(handler, handling.bound);
        handling.saved = builder_->push();
        builder_->set_span(node.handlers[0].span);
        builder_->emit(Op::PUSH_EXC, handling.exception, handling.saved);
        LabelId cleanup = builder_->new_label();
        Reg raised = builder_->push();
        for (const ExceptHandler& clause : node.handlers) {
            LabelId next = builder_->new_label();
            // Finding out whether a clause matches may raise as well.
            CodeBuilder::Region matching = builder_->open_region(cleanup, raised);
            match_clause(clause, handling, next);
            builder_->close_region(matching);
            handle_clause(clause, handling, done);
            builder_->bind(next);
        }
        builder_->set_span(node.handlers[0].span);
        builder_->emit(Op::POP_EXC, handling.saved);
        builder_->emit(Op::RERAISE, handling.exception);
        cleanup_handler(cleanup, handling, raised, kNoName);
    }
    builder_->bind(done);
    builder_->pop_to(top);
}

void Compiler::try_finally(TryStmt& node) {
    uint32_t top = builder_->top();
    Handling handling;
    handling.exception = builder_->push();
    handling.bound = builder_->bound();
    LabelId handler = builder_->new_label();
    LabelId done = builder_->new_label();
    CodeBuilder::Region region = builder_->open_region(handler, handling.exception);
    Block block{BlockKind::TryFinally};
    block.region = &region;
    block.body = &node.finalbody;
    push_block(block);
    if (node.handlers.empty()) {
        body(node.body);
    } else {
        try_except(node);
    }
    pop_block();
    builder_->close_region(region);
    body(node.finalbody);
    builder_->jump(done);
    if (builder_->is_used(handler)) {
        enter_handler(handler, handling.bound);
        handling.saved = builder_->push();
        builder_->set_span(node.finalbody[0]->span);
        builder_->emit(Op::PUSH_EXC, handling.exception, handling.saved);
        LabelId cleanup = builder_->new_label();
        Reg raised = builder_->push();
        CodeBuilder::Region finally_region = builder_->open_region(cleanup, raised);
        Block finally_block{BlockKind::FinallyHandler};
        finally_block.region = &finally_region;
        finally_block.reg = handling.exception;
        finally_block.saved = handling.saved;
        push_block(finally_block);
        body(node.finalbody);
        pop_block();
        builder_->close_region(finally_region);
        builder_->set_span(node.finalbody[0]->span);
        builder_->emit(Op::POP_EXC, handling.saved);
        builder_->emit(Op::RERAISE, handling.exception);
        cleanup_handler(cleanup, handling, raised, kNoName);
    }
    builder_->bind(done);
    builder_->pop_to(top);
}

// with a as b, c as d: the second item is inside the first.
void Compiler::with_statement(WithStmt& node, uint32_t index) {
    const WithItem& item = node.items[index];
    uint32_t top = builder_->top();
    Reg exit = builder_->push();
    Reg entered = builder_->push();
    Reg manager = operand(item.context, entered);
    at(item.context);
    builder_->emit(Op::WITH_ENTER, exit, manager);
    Handling handling;
    handling.exception = builder_->push();
    handling.bound = builder_->bound();
    LabelId handler = builder_->new_label();
    LabelId done = builder_->new_label();
    CodeBuilder::Region region = builder_->open_region(handler, handling.exception);
    Block block{BlockKind::With};
    block.region = &region;
    block.reg = exit;
    push_block(block);
    if (item.target != nullptr) {
        store(item.target, entered);
    } else {
        builder_->emit(Op::CLEAR, entered);
    }
    if (index + 1 < node.items.size) {
        with_statement(node, index + 1);
    } else {
        body(node.body);
    }
    pop_block();
    builder_->close_region(region);
    at(item.context);
    builder_->emit(Op::WITH_EXIT, exit);
    builder_->jump(done);
    if (builder_->is_used(handler)) {
        enter_handler(handler, handling.bound);
        at(item.context);
        handling.saved = builder_->push();
        builder_->emit(Op::PUSH_EXC, handling.exception, handling.saved);
        LabelId cleanup = builder_->new_label();
        LabelId suppressed = builder_->new_label();
        Reg raised = builder_->push();
        Reg answer = builder_->push();
        CodeBuilder::Region exit_region = builder_->open_region(cleanup, raised);
        builder_->emit(Op::WITH_EXCEPT, answer, exit, handling.exception);
        builder_->close_region(exit_region);
        builder_->emit_jump(Op::JUMP_IF, answer, suppressed);
        builder_->emit(Op::POP_EXC, handling.saved);
        builder_->emit(Op::RERAISE, handling.exception);
        builder_->bind(suppressed);
        builder_->emit(Op::POP_EXC, handling.saved);
        builder_->emit(Op::CLEAR, handling.exception);
        builder_->jump(done);
        cleanup_handler(cleanup, handling, raised, kNoName);
    }
    builder_->bind(done);
    builder_->pop_to(top);
}

}  // namespace talc::lang
