#pragma once
// The compiler's state: syntax tree with resolved scopes -> register code.
// compiler.cpp: functions, classes, modules. compiler_names.cpp: variables. compiler_statements.cpp,
// compiler_assign.cpp, compiler_loops.cpp, compiler_try.cpp: statements. compiler_expressions.cpp,
// compiler_conditions.cpp, compiler_calls.cpp, compiler_displays.cpp: expressions.
//
// Registers: locals first, temporaries above them as a stack. An expression is compiled into a given
// register, which only its last instruction writes, so that `x = a + b` is one instruction and an expression
// that fails leaves its target alone. An instruction that reads a temporary consumes it.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "lang/code_builder.hpp"
#include "lang/compile.hpp"
#include "lang/scope.hpp"

namespace talc::lang {

class Compiler {
  public:
    Compiler(std::shared_ptr<const Source> source, NameTable& names, ScopeTree& tree, CompileMode mode);

    std::unique_ptr<Code> compile_module(Module& module);

  private:
    // What a return, break or continue passes on its way out.
    enum class BlockKind : uint8_t { While, For, TryExcept, TryFinally, With, Handler, FinallyHandler };
    struct Block {
        BlockKind kind;
        CodeBuilder::Region* region = nullptr;  // protected code of this block
        LabelId break_label = 0;
        LabelId continue_label = 0;
        Reg reg = 0;                        // For: iterator. With: __exit__. Handlers: the exception
        Reg saved = 0;                      // handlers: the exception handled before
        NameId name = kNoName;              // Handler: `as name`
        const List<Stmt*>* body = nullptr;  // TryFinally: the finally block
    };

    // One code in the making.
    struct Unit {
        Unit(Code& code, Scope* scope, Unit* outer, bool long_jumps)
            : builder(code, long_jumps), scope(scope), outer(outer) {}
        CodeBuilder builder;
        Scope* scope;
        Unit* outer;
        std::vector<Block> blocks;
    };

    static constexpr size_t kMaxBlocks = 20;    // as CPython; finally blocks are copied to each way out
    static constexpr uint32_t kMaxAtOnce = 64;  // elements of a display that wait in registers
    static constexpr size_t kMaxComprehensionFors = 100;

    // ---- codes
    std::unique_ptr<Code> build_code(Scope* scope, Span span, const std::function<void()>& body);
    void start_code(Scope* scope);
    std::string qualified_name(Scope* scope) const;
    std::unique_ptr<Code> function_code(FunctionDefStmt& node);
    std::unique_ptr<Code> lambda_code(LambdaExpr& node);
    std::unique_ptr<Code> class_code(ClassDefStmt& node);
    void set_docstring(const List<Stmt*>& body);
    void make_function(Reg dest, const std::function<std::unique_ptr<Code>()>& make_code,
                       const Arguments& args, Expr* returns);
    void annotation(Expr* expr, Reg dest);
    uint16_t function_parts(const Arguments& args, Expr* returns, Reg base);
    void function_statement(FunctionDefStmt& node);
    void class_statement(ClassDefStmt& node);
    void apply_decorators(const List<Expr*>& decorators, uint32_t first);

    // ---- variables
    Symbol* variable(NameId name) const { return find_variable(scope_, name); }
    std::string_view text(NameId name) const { return names_.text(name); }
    const Symbol* local_symbol(Expr* expr) const;
    Storage storage_of(const Symbol* symbol) const;
    void load_variable(NameId name, Reg dest);
    void store_variable(NameId name, Reg source);
    void delete_variable(NameId name);
    void unbind_quietly(NameId name);
    void check_bound(const Symbol& symbol);
    void mark_bound(Reg reg) { builder_->bound().add(reg); }
    bool sees_walrus() const { return unit_->scope->has_walrus; }

    // ---- statements
    void body(const List<Stmt*>& statements);
    void statement(Stmt* stmt);
    void expression_statement(Expr* value);
    void if_statement(IfStmt& node);
    bool jump_out_if(const IfClause& clause);
    void return_statement(ReturnStmt& node);
    void raise_statement(RaiseStmt& node);
    void assert_statement(AssertStmt& node);
    void import_statement(ImportStmt& node);
    void import_from_statement(ImportFromStmt& node);
    void annotated_statement(AnnAssignStmt& node);
    void store_annotation(AnnAssignStmt& node);

    void assign_statement(AssignStmt& node);
    bool assign_constants(TupleExpr& targets, const ConstantValue& values);
    bool assign_pairwise(TupleExpr& targets, TupleExpr& values);
    void assign_to(Expr* target, Expr* value);
    void augmented_statement(AugAssignStmt& node);
    void store(Expr* target, Reg source);
    void unpack(const List<Expr*>& targets, Reg source, Span span);
    void delete_target(Expr* target);

    void while_statement(WhileStmt& node);
    void for_statement(ForStmt& node);
    // The loop over R[iterator]; `body` gets the label of the next round. A statement's loop is a block.
    void for_loop(Expr* target, Reg iterator, Span span, Block* block,
                  const std::function<void(LabelId)>& body);
    void break_statement();
    void continue_statement();

    void try_statement(TryStmt& node);
    void try_except(TryStmt& node);
    void try_finally(TryStmt& node);
    // The registers of an exception that is being handled, and what was bound before the try.
    struct Handling {
        Reg exception = 0;
        Reg saved = 0;  // what was handled before
        BitSet bound;
    };
    void enter_handler(LabelId label, const BitSet& bound);
    void match_clause(const ExceptHandler& clause, const Handling& handling, LabelId next);
    void handle_clause(const ExceptHandler& clause, const Handling& handling, LabelId done);
    void with_statement(WithStmt& node, uint32_t item);
    void cleanup_handler(LabelId label, const Handling& handling, Reg raised, NameId name);

    void push_block(const Block& block);
    void pop_block() { unit_->blocks.pop_back(); }
    // Emits what the blocks above the first `keep` ask for, then `leave`, then puts the blocks back.
    void unwind(size_t keep, bool returning, const std::function<void()>& leave);
    void leave_block(const Block& block, bool returning);

    // ---- expressions
    void expression(Expr* expr, Reg dest);
    // A register with the value: the local itself, else `scratch`.
    Reg operand(Expr* expr, Reg scratch);
    // As `operand`, with a new temporary as scratch.
    Reg any(Expr* expr);
    void discard(Expr* expr);
    bool is_simple(Expr* expr) const;
    const ConstantValue* constant_of(Expr* expr) const;
    void load_constant(const ConstantValue& value, Reg dest);
    void load_none(Reg dest) { builder_->emit(Op::LOAD_NONE, dest); }
    void load_text(std::string_view text, Reg dest);
    void at(const Expr* expr) { builder_->set_span(expr->span); }
    void move(Reg dest, Reg source) {
        if (dest != source) builder_->emit(Op::MOVE, dest, source);
    }
    // A temporary to build a value in: `dest` itself if it is the topmost one.
    Reg work_register(Reg dest);

    void spine(Expr* expr, Reg dest);
    Reg keep_across(Reg value, Expr* later, Reg scratch);
    // As `keep_across`, with a new temporary where one is needed.
    Reg keep_across(Reg value, Expr* later);
    void binary(BinOpExpr& node, Reg left, Reg scratch, Reg out);
    void attribute(AttributeExpr& node, Reg value, Reg out);
    void subscript(SubscriptExpr& node, Reg value, Reg scratch, Reg out);
    void unary(UnaryOpExpr& node, Reg dest);
    void bool_op(BoolOpExpr& node, Reg dest);
    void compare(CompareExpr& node, Reg dest);
    void compare_chain(CompareExpr& node, Reg dest);
    void emit_compare(CompareOperator op, Reg left, Expr* right, Reg scratch, Reg out, Span span);
    void if_expression(IfExpExpr& node, Reg dest);
    void named(NamedExprExpr& node, Reg dest);
    void slice_object(SliceExpr& node, Reg dest);
    void slice_bound(Expr* expr, Reg dest);
    void yield_value(YieldExpr& node, Reg dest);
    void yield_from(YieldFromExpr& node, Reg dest);
    void lambda(LambdaExpr& node, Reg dest);

    void condition(Expr* expr, LabelId target, bool jump_if);
    void compare_condition(CompareExpr& node, LabelId target, bool jump_if);
    void fused_compare(CompareOperator op, Reg left, Expr* right, Span span, LabelId target, bool jump_if);
    bool none_test(CompareExpr& node, LabelId target, bool jump_if);

    void call(CallExpr& node, Reg callee, Reg scratch, Reg out);
    void call_method(CallExpr& node, AttributeExpr& method, Reg object, Reg scratch, Reg out);
    void call_super_method(CallExpr& node, AttributeExpr& method, Reg scratch, Reg out);
    void call_unpacked(CallExpr& node, Reg callee, Reg out);
    void keyword_dict(List<Keyword> keywords, Span span, Reg dict, Reg callee);
    uint16_t push_arguments(CallExpr& node);
    void finish_call(Op plain, Op with_keywords, CallExpr& node, Reg base, uint16_t count, Reg out);
    bool is_super_call(Expr* expr) const;
    void push_super_operands();
    void super_object(Expr* expr, Reg dest);

    void list_display(const List<Expr*>& elts, Reg dest);
    void set_display(const List<Expr*>& elts, Reg dest);
    void tuple_display(const List<Expr*>& elts, Reg dest);
    void build_by_steps(Op build, Op add, Op extend, const List<Expr*>& elts, Reg dest);
    void dict_display(DictExpr& node, Reg dest);
    bool constant_list(const List<Expr*>& elts, Reg dest);
    uint16_t constant_tuple(const List<Expr*>& elts);
    bool all_constant(const List<Expr*>& elts) const;
    void joined_string(const List<Expr*>& values, Reg dest);
    void formatted_value(FormattedValueExpr& node, Reg dest);

    struct ComprehensionParts {
        Expr* first;   // element, or key
        Expr* second;  // value of a dict comprehension
        List<Comprehension>* generators;
        Scope* scope;
        Span span;
    };
    void comprehension(const ComprehensionParts& parts, Reg dest);
    void inline_comprehension(const ComprehensionParts& parts, Reg dest);
    void call_comprehension(const ComprehensionParts& parts, Reg dest);
    void comprehension_loops(const ComprehensionParts& parts, size_t index, Reg accumulator);
    void comprehension_element(const ComprehensionParts& parts, Reg accumulator);

    std::shared_ptr<const Source> source_;
    NameTable& names_;
    ScopeTree& tree_;
    CompileMode mode_;
    Unit* unit_ = nullptr;
    CodeBuilder* builder_ = nullptr;  // of the unit
    Scope* scope_ = nullptr;          // innermost, an inlined comprehension included
    std::vector<Expr*> spine_;        // nodes of the chains being compiled
    NameId dunder_class_{};
    NameId dunder_debug_{};
    NameId super_{};
};

}  // namespace talc::lang
