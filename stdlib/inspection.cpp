#include "stdlib/inspection.hpp"

#include "lang/lexer.hpp"
#include "lang/parser.hpp"
#include "vm/class.hpp"
#include "vm/shape.hpp"

namespace talc::stdlib {

using namespace vm;

namespace {

using lang::TokenKind;

class Reader {
  public:
    Reader(Vm& machine, const lang::NameTable& names) : vm_(machine), names_(names) {}

    Known read(lang::Expr* expr) {
        using lang::as;
        using lang::ExprKind;
        switch (expr->kind) {
            case ExprKind::Name: return name(names_.text(as<lang::NameExpr>(expr).id));
            case ExprKind::Constant: return constant(as<lang::ConstantExpr>(expr).value);
            case ExprKind::JoinedStr: return of(vm_.classes.str);
            case ExprKind::List:
            case ExprKind::ListComp: return of(vm_.classes.list);
            case ExprKind::Tuple: return of(vm_.classes.tuple);
            case ExprKind::Dict:
            case ExprKind::DictComp: return of(vm_.classes.dict);
            case ExprKind::Set:
            case ExprKind::SetComp: return of(vm_.classes.set);
            case ExprKind::GeneratorExp: return of(vm_.classes.generator);
            case ExprKind::Lambda: return of(vm_.classes.function);
            case ExprKind::BinOp: return binary(as<lang::BinOpExpr>(expr));
            case ExprKind::Attribute: return attribute(as<lang::AttributeExpr>(expr));
            case ExprKind::Subscript: return item(as<lang::SubscriptExpr>(expr));
            case ExprKind::Call: return called(as<lang::CallExpr>(expr));
            default: return {};
        }
    }

  private:
    static Known of(Class* cls) { return {Ref(), cls}; }
    // Not inlined: GCC 12 warns of what it would see there.
    [[gnu::noinline]] Known of(Value value) { return {Ref(value), class_of(vm_, value)}; }

    Known name(std::string_view text) {
        Ref value = find_attr_plain(vm_, vm_.main_module, intern(vm_, text).get());
        if (!value) value = vm_.builtin(text);
        return value ? of(value.get()) : Known();
    }
    Known constant(const lang::ConstantValue& value) {
        switch (value.kind) {
            case lang::ConstantKind::None: return of(Value::none());
            case lang::ConstantKind::True: return of(Value::boolean(true));
            case lang::ConstantKind::False: return of(Value::boolean(false));
            case lang::ConstantKind::Ellipsis: return of(Value::ellipsis());
            case lang::ConstantKind::Int: return of(Value::integer(value.integer));
            case lang::ConstantKind::Float: return of(Value::real(value.number));
            case lang::ConstantKind::Str: return of(Ref(make_str(vm_, value.text)).get());
            case lang::ConstantKind::Bytes: return of(vm_.classes.bytes);
            case lang::ConstantKind::Tuple: return of(vm_.classes.tuple);
        }
        return {};
    }
    // Numbers and texts only: what a class of the script makes of an operator is not known.
    Known binary(const lang::BinOpExpr& expr) {
        Known left = read(expr.left), right = read(expr.right);
        if (!left || !right) return {};
        for (Class* cls : {left.cls, right.cls}) {
            if (is_subclass(cls, vm_.classes.tensor)) return of(vm_.classes.tensor);
        }
        bool divides = expr.op == lang::BinaryOperator::Div;
        auto is_number = [&](Class* cls) { return cls == vm_.classes.int_ || cls == vm_.classes.float_; };
        if (is_number(left.cls) && is_number(right.cls)) {
            return of(divides || left.cls != right.cls ? vm_.classes.float_ : left.cls);
        }
        if (left.cls == vm_.classes.str && !divides) return of(left.cls);
        if (left.cls == right.cls && left.cls == vm_.classes.list) return of(left.cls);
        return {};
    }
    Known attribute(const lang::AttributeExpr& expr) {
        Known base = read(expr.value);
        if (!base) return {};
        Ptr<Str> name = intern(vm_, names_.text(expr.attr));
        Value in_class = find_class_attr(vm_, base.cls, name.get());
        if (in_class.is_kind(Kind::Property)) return {};  // reading it would run the script's code
        if (base.value) {
            Ref value = find_attr_plain(vm_, base.value, name.get());
            return value ? of(value.get()) : Known();
        }
        return in_class.is_undef() ? Known() : of(in_class);
    }
    Known item(const lang::SubscriptExpr& expr) {
        Known base = read(expr.value);
        if (!base) return {};
        if (base.cls == vm_.classes.str) return of(base.cls);
        bool builtin = base.cls == vm_.classes.list || base.cls == vm_.classes.tuple || base.cls == vm_.classes.dict;
        if (expr.slice->kind == lang::ExprKind::Slice) return builtin && base.cls != vm_.classes.dict ? of(base.cls) : Known();
        Known key = read(expr.slice);
        bool plain_key = key.cls == vm_.classes.str || key.cls == vm_.classes.int_;
        if (!builtin || !base.value || !key.value || !plain_key) return {};
        return of(get_item(vm_, base.value, key.value).get());
    }
    Known called(const lang::CallExpr& expr) {
        Known callee = read(expr.func);
        if (!callee.value || !callee.value.is_kind(Kind::Class)) return {};
        auto* cls = cast<Class>(callee.value.get());
        return cls == vm_.classes.type ? Known() : of(cls);
    }

    Vm& vm_;
    const lang::NameTable& names_;
};

bool opens(TokenKind kind) { return kind == TokenKind::LParen || kind == TokenKind::LBracket || kind == TokenKind::LBrace; }
bool closes(TokenKind kind) { return kind == TokenKind::RParen || kind == TokenKind::RBracket || kind == TokenKind::RBrace; }
bool is_text(TokenKind kind) { return kind == TokenKind::String || kind == TokenKind::FString || kind == TokenKind::Bytes; }
bool ends_operand(TokenKind kind) {
    return kind == TokenKind::Name || kind == TokenKind::Int || kind == TokenKind::Float || is_text(kind) || closes(kind) ||
           kind == TokenKind::None || kind == TokenKind::True || kind == TokenKind::False;
}

}  // namespace

size_t operand_start(std::string_view text) {
    std::vector<lang::Token> tokens = lang::tokenize(text, lang::LexMode::Tolerant).tokens;
    std::erase_if(tokens, [](const lang::Token& t) { return lang::token_category(t.kind) == lang::TokenCategory::Layout; });
    size_t at = tokens.size();
    size_t start = text.size();
    while (at > 0 && ends_operand(tokens[at - 1].kind)) {
        lang::Token last = tokens[--at];
        if (closes(last.kind)) {
            size_t depth = 1;
            while (at > 0 && depth > 0) {
                at--;
                if (closes(tokens[at].kind)) depth++;
                if (opens(tokens[at].kind)) depth--;
            }
            if (depth > 0) return start;
        }
        start = tokens[at].span.begin;
        bool bracket = opens(tokens[at].kind) && tokens[at].kind != TokenKind::LBrace;
        if (at > 0 && tokens[at - 1].kind == TokenKind::Dot && !bracket && last.kind == TokenKind::Name) {
            at--;  // what the attribute is of
            continue;
        }
        if (at > 0 && bracket && ends_operand(tokens[at - 1].kind)) continue;  // what is called or indexed
        if (at > 0 && is_text(last.kind) && is_text(tokens[at - 1].kind)) continue;
        break;
    }
    return start;
}

Known known_value(Vm& machine, std::string_view expression) {
    lang::Arena arena;
    lang::NameTable names(arena);
    lang::ParseResult parsed = lang::parse_expression(expression, arena, names);
    if (!parsed.module || parsed.module->body.size != 1) return {};
    auto* statement = lang::as_if<lang::ExprStmt>(parsed.module->body[0]);
    if (!statement) return {};
    try {
        return Reader(machine, names).read(statement->value);
    } catch (Raised&) {  // no such item
        machine.take_raised();
        return {};
    }
}

Value function_behind(Vm& machine, Value value) {
    if (value.is_kind(Kind::BoundMethod)) value = cast<BoundMethod>(value)->function;
    if (value.is_kind(Kind::Class)) {
        Value init = find_class_attr(machine, cast<Class>(value), machine.names.special(Special::Init));
        if (init.is_kind(Kind::Function)) return init;
    }
    return value;
}

namespace {

std::string function_signature(Vm& machine, const Function* function, bool bound) {
    const lang::Code& code = *function->code->plain;
    size_t defaults = function->defaults ? function->defaults->size : 0;
    std::string out = "(";
    auto add = [&](const std::string& text) { out += (out.size() > 1 ? ", " : "") + text; };
    for (size_t i = bound ? 1 : 0; i < code.positional; i++) {
        std::string text = code.local_names[i];
        if (i + defaults >= code.positional) {
            text += "=" + repr(machine, function->defaults->items[i + defaults - code.positional])->string();
        }
        add(text);
        if (i + 1 == code.positional_only) add("/");
    }
    size_t at = size_t{code.positional} + code.keyword_only;
    if (code.has_varargs) add("*" + code.local_names[at++]);
    else if (code.keyword_only) add("*");
    for (size_t i = code.positional; i < size_t{code.positional} + code.keyword_only; i++) {
        std::string text = code.local_names[i];
        Value fallback;
        if (function->keyword_defaults) fallback = dict_get(machine, function->keyword_defaults, intern(machine, text).get());
        if (!fallback.is_undef()) text += "=" + repr(machine, fallback)->string();
        add(text);
    }
    if (code.has_varkw) add("**" + code.local_names[at]);
    return out + ")";
}

// A row's signature as a reader wants it: no "self", and no "/", "?" and "static", which are for the table.
std::string native_signature(const NativeRow& row, bool bound) {
    std::string_view text = row.signature;
    text.remove_prefix(text.find('('));
    std::string out;
    bool first = true;
    for (std::string_view rest = text.substr(1, text.size() - 2); !rest.empty();) {
        size_t end = 0;
        for (int depth = 0; end < rest.size() && (depth > 0 || rest[end] != ','); end++) {
            if (rest[end] == '(') depth++;
            if (rest[end] == ')') depth--;
        }
        std::string_view part = rest.substr(0, end);
        rest.remove_prefix(std::min(rest.size(), end + 1));
        while (part.starts_with(' ')) part.remove_prefix(1);
        bool is_receiver = first && (part == "self" || part == "cls");
        first = false;
        if (part == "/" || (bound && is_receiver)) continue;
        if (part.ends_with("=?")) part.remove_suffix(2);
        out += (out.empty() ? "" : ", ") + std::string(part);
    }
    return "(" + out + ")";
}

}  // namespace

std::string signature_text(Vm& machine, Value value) {
    Value function = function_behind(machine, value);
    bool bound = value.is_kind(Kind::BoundMethod) || value.is_kind(Kind::Class);
    if (function.is_kind(Kind::Function)) return function_signature(machine, cast<Function>(function), bound);
    if (function.is_kind(Kind::Native)) return native_signature(*cast<Native>(function)->row, true);
    if (function.is_kind(Kind::Class)) {
        for (Special special : {Special::Init, Special::New}) {
            Value made = find_class_attr(machine, cast<Class>(function), machine.names.special(special));
            bool plain = made.is_kind(Kind::Native) && cast<Native>(made)->owner != machine.classes.object;
            if (plain) return native_signature(*cast<Native>(made)->row, true);
        }
    }
    return "";
}

}  // namespace talc::stdlib
