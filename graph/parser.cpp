#include <charconv>
#include <cmath>
#include <unordered_map>

#include "graph/text.hpp"
#include "tensor/error.hpp"
#include "tensor/factory.hpp"

namespace talc::graph {

using tensor::ErrorKind;
using tensor::fail;

namespace {

class Parser {
  public:
    Parser(tensor::Context& context, std::string_view text) : context_(context), text_(text) {}

    // graph ::= "graph" "(" [ value ":" type {"," ...} ] ")" [ "where" fact {"," fact} ] [ "default" dtype ] "{" {node}
    //           "return" [ value {"," value} ] "}"
    Graph run() {
        expect("graph");
        expect("(");
        // The default dtype stands behind the parameters but is needed first.
        size_t found = text_.find(" default ");
        DType default_float = DType::Float32;
        if (found != std::string_view::npos && found < text_.find('{')) {
            size_t here = at_;
            at_ = found + std::string_view(" default ").size();
            default_float = dtype();
            at_ = here;
        }
        graph_ = Graph(default_float);
        while (!accept(")")) {
            if (!graph_.inputs().empty()) expect(",");
            int64_t number = value_number();
            expect(":");
            define(number, graph_.input(type()));
        }
        if (accept("where")) {
            do fact();
            while (accept(","));
        }
        if (accept("default")) dtype();
        expect("{");
        while (!accept("return")) node();
        std::vector<Value> outputs;
        while (!accept("}")) {
            if (!outputs.empty()) expect(",");
            outputs.push_back(value());
        }
        graph_.set_outputs(std::move(outputs));
        skip();
        if (at_ != text_.size()) error("the end of the text");
        return std::move(graph_);
    }

  private:
    void skip() {
        while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    }
    [[noreturn]] void error(std::string_view expected) {
        skip();
        size_t line = 1 + static_cast<size_t>(std::count(text_.begin(), text_.begin() + static_cast<int64_t>(at_), '\n'));
        std::string_view rest = text_.substr(at_, std::min<size_t>(20, text_.substr(at_).find('\n')));
        fail(ErrorKind::Value, "line {} of the graph: expected {}, but found '{}'", line, expected, rest);
    }
    static bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
    bool accept(std::string_view token) {
        skip();
        if (!text_.substr(at_).starts_with(token)) return false;
        size_t end = at_ + token.size();
        if (is_word(token.back()) && end < text_.size() && is_word(text_[end])) return false;
        at_ = end;
        return true;
    }
    void expect(std::string_view token) {
        if (!accept(token)) error(fmt::format("'{}'", token));
    }
    std::string_view word() {
        skip();
        size_t begin = at_;
        while (at_ < text_.size() && is_word(text_[at_])) ++at_;
        if (begin == at_) error("a name");
        return text_.substr(begin, at_ - begin);
    }
    int64_t integer() {
        skip();
        int64_t number = 0;
        auto [end, status] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
        if (status != std::errc{}) error("an integer");
        at_ = static_cast<size_t>(end - text_.data());
        return number;
    }

    DType dtype() {
        size_t begin = at_;
        auto found = tensor::dtype_named(word());
        if (!found) {
            at_ = begin;
            error("a dtype");
        }
        return *found;
    }

    // sum ::= product {("+" | "-") product};  product ::= unit {"*" unit};
    // unit ::= integer | "s" integer | "(" sum [("//" | "%") sum] ")"
    Dim dim() {
        Dim sum = dim_product();
        while (true) {
            if (accept("+")) {
                sum = sum + dim_product();
            } else if (accept("-")) {
                sum = sum - dim_product();
            } else {
                return sum;
            }
        }
    }
    Dim dim_product() {
        Dim product = dim_unit();
        while (accept("*")) product = product * dim_unit();
        return product;
    }
    Dim dim_unit() {
        if (++depth_ > 200) error("a shallower expression");
        Dim result;
        skip();
        if (accept("(")) {
            result = dim();
            if (accept("//")) {
                result = floor_div(result, dim());
            } else if (accept("%")) {
                result = modulo(result, dim());
            }
            expect(")");
        } else if (at_ < text_.size() && text_[at_] == 's') {
            ++at_;
            int64_t id = integer();
            if (id < 0 || id > 100000) error("a symbol number");
            result = graph_.dims().symbol(static_cast<uint32_t>(id));
        } else {
            result = Dim(integer());
        }
        --depth_;
        return result;
    }
    void fact() {
        Dim a = dim();
        static constexpr std::pair<std::string_view, DimFact::Kind> kSigns[] = {
            {"==", DimFact::Equal}, {"!=", DimFact::NotEqual}, {"<=", DimFact::AtMost}, {">", DimFact::Above}};
        for (auto [sign, kind] : kSigns) {
            if (accept(sign)) return graph_.dims().assume({kind, a, dim()});
        }
        error("'==', '!=', '<=' or '>'");
    }

    Shape shape() {
        Shape shape;
        expect("[");
        while (!accept("]")) {
            if (!shape.empty()) expect(",");
            shape.push_back(dim());
        }
        return shape;
    }
    TensorType type() {
        TensorType type;
        type.dtype = dtype();
        type.shape = shape();
        if (accept("@")) type.device = device();
        type.weak = accept("number");
        return type;
    }
    Device device() {
        skip();
        size_t begin = at_;
        while (at_ < text_.size() && (is_word(text_[at_]) || text_[at_] == ':')) ++at_;
        auto found = tensor::device_named(text_.substr(begin, at_ - begin));
        if (!found) {
            at_ = begin;
            error("a device");
        }
        return *found;
    }
    Scalar scalar() {
        if (accept("true")) return true;
        if (accept("false")) return false;
        if (accept("nan")) return NAN;
        if (accept("inf")) return HUGE_VAL;
        if (accept("-inf")) return -HUGE_VAL;
        skip();
        size_t end = at_;
        while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '.' ||
                                      text_[end] == '-' || text_[end] == '+')) {
            ++end;
        }
        std::string_view digits = text_.substr(at_, end - at_);
        if (digits.find_first_of(".e") == std::string_view::npos) return integer();
        double number = 0;
        auto [last, status] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
        if (status != std::errc{}) error("a number");
        at_ = static_cast<size_t>(last - text_.data());
        return number;
    }

    // One reader a kind of attribute; see attrs.def.
    void read_Sizes(Shape& v) { v = shape(); }
    void read_Ints(tensor::Dims& v) {
        v.clear();
        for (Dim d : shape()) v.push_back(d.constant());
    }
    void read_Int(int64_t& v) { v = integer(); }
    void read_Dim(Dim& v) { v = dim(); }
    void read_Flag(bool& v) { v = accept("true") || (expect("false"), false); }
    void read_Type(std::optional<DType>& v) { v = dtype(); }
    void read_Number(Scalar& v) { v = scalar(); }
    void read_Place(Device& v) { v = device(); }

    void attribute(Attrs& attrs) {
        size_t begin = at_;
        std::string_view name = word();
        expect("=");
#define TALC_ATTR(id, field, kind) \
    if (name == #field) return read_##kind(attrs.field);
#include "tensor/attrs.def"
#undef TALC_ATTR
        at_ = begin;
        error("an attribute's name");
    }

    int64_t value_number() {
        expect("%");
        return integer();
    }
    void define(int64_t number, Value value) {
        if (!values_.emplace(number, value).second) error(fmt::format("%{} to be defined once", number));
    }
    Value value() {
        size_t begin = at_;
        auto found = values_.find(value_number());
        if (found == values_.end()) {
            at_ = begin;
            error("a value that is defined above");
        }
        return found->second;
    }

    Value constant(const TensorType& type) {
        expect("[");
        tensor::Dims sizes = concrete(type.shape, [](uint32_t) -> int64_t { fail("a constant has plain sizes"); });
        std::vector<double> floats;
        std::vector<int64_t> whole;
        while (!accept("]")) {
            if (!floats.empty()) expect(",");
            Scalar item = scalar();
            floats.push_back(item.to_double());
            whole.push_back(item.to_int());
        }
        return graph_.constant(tensor::is_float(type.dtype) ? tensor::from_values(context_, floats, sizes, type.dtype)
                                                            : tensor::from_values(context_, whole, sizes, type.dtype));
    }

    // node ::= value ":" type {"," type} "=" name "(" {value | attribute} ")"
    void node() {
        int64_t number = value_number();
        expect(":");
        std::vector<TensorType> types = {type()};
        while (accept(",")) types.push_back(type());
        expect("=");
        size_t begin = at_;
        auto op = tensor::op_named(word());
        if (!op || *op == Op::Input) {
            at_ = begin;
            error("an operator");
        }
        expect("(");
        Value made = nullptr;
        if (*op == Op::Constant) {
            made = constant(types[0]);
            expect(")");
        } else {
            std::vector<Value> operands;
            Attrs attrs;
            for (bool first = true; !accept(")"); first = false) {
                if (!first) expect(",");
                skip();
                if (at_ < text_.size() && text_[at_] == '%') {
                    operands.push_back(value());
                } else {
                    attribute(attrs);
                }
            }
            if (*op == Op::Output) {
                if (operands.size() != 1) error("one operand of output");
                made = graph_.output(operands[0], attrs.which);
            } else {
                made = graph_.add(*op, operands, std::move(attrs));
            }
        }
        if (made->types != types) error(fmt::format("%{} to have type {}", number, to_string(made->type())));
        define(number, made);
    }

    tensor::Context& context_;
    std::string_view text_;
    size_t at_ = 0;
    int depth_ = 0;
    Graph graph_;
    std::unordered_map<int64_t, Value> values_;
};

}  // namespace

Graph parse(tensor::Context& context, std::string_view text) { return Parser(context, text).run(); }

}  // namespace talc::graph
