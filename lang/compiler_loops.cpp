// Loops and the ways out of blocks.
#include "lang/compiler_impl.hpp"
#include "lang/constant_fold.hpp"

namespace talc::lang {

void Compiler::push_block(const Block& block) {
    if (unit_->blocks.size() >= kMaxBlocks) builder_->fail("too many statically nested blocks");
    unit_->blocks.push_back(block);
}

// What one block asks of control that leaves it.
void Compiler::leave_block(const Block& block, bool returning) {
    switch (block.kind) {
        case BlockKind::While:
        case BlockKind::TryExcept:
            return;
        case BlockKind::For:
            // A frame that ends drops its registers by itself.
            if (!returning) builder_->emit(Op::CLEAR, block.reg);
            return;
        case BlockKind::TryFinally:
            return body(*block.body);
        case BlockKind::With:
            return builder_->emit(Op::WITH_EXIT, block.reg);
        case BlockKind::Handler:
            if (block.name != kNoName) unbind_quietly(block.name);
            return builder_->emit(Op::POP_EXC, block.saved);
        case BlockKind::FinallyHandler:
            builder_->emit(Op::POP_EXC, block.saved);
            return builder_->emit(Op::CLEAR, block.reg);
    }
}

void Compiler::unwind(size_t keep, bool returning, const std::function<void()>& leave) {
    std::vector<Block>& blocks = unit_->blocks;
    std::vector<Block> left(blocks.begin() + static_cast<ptrdiff_t>(keep), blocks.end());
    Span span = builder_->span();
    // What a block does on the way out is protected by the blocks around it, no longer by itself.
    for (size_t i = left.size(); i-- > 0;) {
        blocks.pop_back();
        if (left[i].region != nullptr) builder_->suspend(*left[i].region);
        leave_block(left[i], returning);
        builder_->set_span(span);
    }
    leave();
    for (const Block& block : left) {
        blocks.push_back(block);
        if (block.region != nullptr) builder_->resume(*block.region);
    }
}

void Compiler::while_statement(WhileStmt& node) {
    if (const ConstantValue* decided = constant_of(node.test); decided != nullptr && !is_true(*decided)) {
        return body(node.orelse);
    }
    LabelId head = builder_->new_label();
    LabelId done = builder_->new_label();
    LabelId end = builder_->new_label();
    builder_->bind(head);
    condition(node.test, done, false);
    Block block{BlockKind::While};
    block.break_label = end;
    block.continue_label = head;
    push_block(block);
    body(node.body);
    pop_block();
    builder_->set_span(node.test->span);
    builder_->jump_back(head);
    builder_->bind(done);
    body(node.orelse);
    builder_->bind(end);
}

void Compiler::for_loop(Expr* target, Reg iterator, Span span, Block* block,
                        const std::function<void(LabelId)>& loop_body) {
    if (!builder_->reachable()) return;
    LabelId start = builder_->new_label();
    LabelId next = builder_->new_label();
    uint32_t top = builder_->top();
    BitSet before = builder_->bound();
    builder_->set_span(span);
    builder_->jump(next);
    // FOR_NEXT, below, comes back here with the next item.
    builder_->set_reachable(true);
    builder_->bound() = before;
    builder_->bind(start);
    const Symbol* local = local_symbol(target);
    Reg item = local != nullptr ? local->index : builder_->push();
    if (local != nullptr) {
        mark_bound(item);
    } else {
        store(target, item);
        builder_->pop_to(top);
    }
    if (block != nullptr) {
        block->continue_label = next;
        push_block(*block);
    }
    loop_body(next);
    if (block != nullptr) pop_block();
    if (builder_->long_jumps()) {
        // The body may be farther away than FOR_NEXT reaches.
        LabelId far = builder_->new_label();
        builder_->jump(next);
        builder_->set_reachable(true);
        builder_->bind(far);
        builder_->jump_back(start);
        builder_->bind(next);
        builder_->set_span(span);
        builder_->emit_jump16(Op::FOR_NEXT, iterator, item, far);
    } else {
        builder_->bind(next);
        builder_->set_span(span);
        builder_->emit_jump16(Op::FOR_NEXT, iterator, item, start);
    }
    builder_->bound() = before;
}

void Compiler::for_statement(ForStmt& node) {
    uint32_t top = builder_->top();
    Reg iterator = builder_->push();
    Reg iterable = operand(node.iter, iterator);
    at(node.iter);
    builder_->emit(Op::GET_ITER, iterator, iterable);
    LabelId end = builder_->new_label();
    Block block{BlockKind::For};
    block.break_label = end;
    block.reg = iterator;
    for_loop(node.target, iterator, node.iter->span, &block, [&](LabelId) { body(node.body); });
    body(node.orelse);
    builder_->bind(end);
    builder_->pop_to(top);
}

void Compiler::break_statement() {
    size_t loop = unit_->blocks.size();
    while (unit_->blocks[loop - 1].kind != BlockKind::While && unit_->blocks[loop - 1].kind != BlockKind::For)
        loop--;
    // The loop's own iterator goes too.
    LabelId target = unit_->blocks[loop - 1].break_label;
    unwind(loop - 1, false, [&] { builder_->jump(target); });
}

void Compiler::continue_statement() {
    size_t loop = unit_->blocks.size();
    while (unit_->blocks[loop - 1].kind != BlockKind::While && unit_->blocks[loop - 1].kind != BlockKind::For)
        loop--;
    Block target = unit_->blocks[loop - 1];
    unwind(loop, false, [&] {
        target.kind == BlockKind::While ? builder_->jump_back(target.continue_label)
                                        : builder_->jump(target.continue_label);
    });
}

}  // namespace talc::lang
