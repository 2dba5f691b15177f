#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text/number_parse.hpp"
#include "base/text/number_text.hpp"
#include "base/text/utf8.hpp"
#include "stdlib/modules/json.hpp"
#include "vm/arith.hpp"

namespace talc::stdlib::json {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Decoder {
  public:
    Decoder(Vm& vm, Str* text, size_t at, const DecodeOptions& options)
        : vm_(vm), source_(text), text_(text->view()), at_(at), options_(options), ticker_(vm) {}

    size_t at() const { return at_; }

    Ref value() {
        ticker_.step();
        size_t start = at_;
        switch (peek()) {
            case '"': return string();
            case '{': return object();
            case '[': return array();
            case 'n':
                if (literal("null")) return none();
                break;
            case 't':
                if (literal("true")) return boolean(true);
                break;
            case 'f':
                if (literal("false")) return boolean(false);
                break;
            case 'N':
                if (literal("NaN")) return constant(start, NAN);
                break;
            case 'I':
                if (literal("Infinity")) return constant(start, INFINITY);
                break;
            case '-':
                if (literal("-Infinity")) return constant(start, -INFINITY);
                return number();
            default:
                if (is_digit(peek())) return number();
        }
        fail("Expecting value", start);
    }

  private:
    [[noreturn]] void fail(const char* message, size_t at) { raise_decode_error(vm_, message, source_, at); }
    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    bool at_end() const { return at_ >= text_.size(); }
    void space() { at_ = skip_space(text_, at_); }

    bool literal(std::string_view word) {
        if (text_.substr(at_, word.size()) != word) return false;
        at_ += word.size();
        return true;
    }

    Ref constant(size_t start, double x) {
        if (options_.parse_constant.is_none()) return real(x);
        return call(vm_, options_.parse_constant, make_str(vm_, text_.substr(start, at_ - start)));
    }

    Ref number() {
        size_t start = at_;
        if (peek() == '-') at_++;
        if (!is_digit(peek())) fail("Expecting value", start);
        if (peek() == '0') {
            at_++;
        } else {
            while (is_digit(peek())) at_++;
        }
        bool whole = true;
        if (peek() == '.' && at_ + 1 < text_.size() && is_digit(text_[at_ + 1])) {
            whole = false;
            at_++;
            while (is_digit(peek())) at_++;
        }
        if (peek() == 'e' || peek() == 'E') {
            size_t digits = at_ + 1;
            if (digits < text_.size() && (text_[digits] == '+' || text_[digits] == '-')) digits++;
            if (digits < text_.size() && is_digit(text_[digits])) {
                whole = false;
                at_ = digits;
                while (is_digit(peek())) at_++;
            }
        }
        std::string_view digits = text_.substr(start, at_ - start);
        Value hook = whole ? options_.parse_int : options_.parse_float;
        if (!hook.is_none()) return call(vm_, hook, make_str(vm_, digits));
        if (!whole) return real(text::parse_float(digits).value_or(NAN));
        int64_t n = 0;
        auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), n);
        if (parsed.ec != std::errc()) raise_int_overflow(vm_);
        return integer(n);
    }

    // ---- Strings ----

    Ptr<Str> string() {
        size_t start = at_++;
        size_t end = plain_end();
        if (end < text_.size() && text_[end] == '"') {  // no escapes: nothing to copy twice
            std::string_view plain = text_.substr(at_, end - at_);
            at_ = end + 1;
            return make_str(vm_, plain);
        }
        text::Buffer out;
        for (;;) {
            end = plain_end();
            out.append(text_.substr(at_, end - at_));
            at_ = end;
            if (at_end()) fail("Unterminated string starting at", start);
            char c = text_[at_++];
            if (c == '"') return make_str(vm_, out);
            if (c != '\\') {
                if (options_.strict) fail("Invalid control character at", at_ - 1);
                out.push_back(c);
                continue;
            }
            if (at_end()) fail("Unterminated string starting at", start);
            escape(out);
        }
    }

    // Where the run of characters that stand for themselves ends.
    size_t plain_end() const {
        size_t at = at_;
        while (at < text_.size()) {
            auto c = static_cast<unsigned char>(text_[at]);
            if (c == '"' || c == '\\' || c < 0x20) break;
            at++;
        }
        return at;
    }

    void escape(text::Buffer& out) {
        char c = text_[at_++];
        switch (c) {
            case '"':
            case '\\':
            case '/': return out.push_back(c);
            case 'b': return out.push_back('\b');
            case 'f': return out.push_back('\f');
            case 'n': return out.push_back('\n');
            case 'r': return out.push_back('\r');
            case 't': return out.push_back('\t');
            case 'u': break;
            default: fail("Invalid \\escape", at_ - 2);
        }
        char32_t point = four_digits();
        bool high = point >= 0xD800 && point <= 0xDBFF;
        if (high && text_.substr(at_, 2) == "\\u") {
            size_t second = at_;
            at_ += 2;
            char32_t low = four_digits();
            if (low >= 0xDC00 && low <= 0xDFFF) {
                point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
            } else {
                at_ = second;
            }
        }
        text::append_code_point(out, point);
    }

    char32_t four_digits() {
        uint32_t point = 0;
        std::string_view digits = text_.substr(at_, 4);
        auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), point, 16);
        if (digits.size() < 4 || parsed.ptr != digits.data() + 4) fail("Invalid \\uXXXX escape", at_ - 1);
        at_ += 4;
        return point;
    }

    // ---- Containers ----

    Ref array() {
        RecursionGuard guard(vm_);
        at_++;
        Ptr<List> list = make_list(vm_);
        space();
        if (peek() == ']' && !at_end()) {
            at_++;
            return list;
        }
        for (;;) {
            list_append(vm_, list.get(), value());
            space();
            if (peek() == ']') break;
            if (peek() != ',') fail("Expecting ',' delimiter", at_);
            at_++;
            space();
        }
        at_++;
        return list;
    }

    Ref object() {
        RecursionGuard guard(vm_);
        at_++;
        bool pairs_wanted = !options_.object_pairs_hook.is_none();
        Ptr<List> pairs = pairs_wanted ? make_list(vm_) : nullptr;
        Ptr<Dict> dict = pairs_wanted ? nullptr : make_dict(vm_);
        space();
        if (peek() == '}') {
            at_++;
        } else {
            for (;;) {
                if (peek() != '"') fail("Expecting property name enclosed in double quotes", at_);
                Ref key = key_string();
                space();
                if (peek() != ':') fail("Expecting ':' delimiter", at_);
                at_++;
                space();
                Ref item = value();
                if (pairs_wanted) {
                    list_append(vm_, pairs.get(), Ref(make_tuple(vm_, {key, item})));
                } else {
                    dict_set(vm_, dict.get(), key, item);
                }
                space();
                if (peek() == '}') break;
                if (peek() != ',') fail("Expecting ',' delimiter", at_);
                at_++;
                space();
            }
            at_++;
        }
        if (pairs_wanted) return call(vm_, options_.object_pairs_hook, pairs);
        if (!options_.object_hook.is_none()) return call(vm_, options_.object_hook, dict);
        return dict;
    }

    // Keys come again in object after object: short ones are shared.
    Ref key_string() {
        Ptr<Str> key = string();
        constexpr size_t kShared = 32;
        for (const Ref& known : keys_) {
            if (cast<Str>(known.get())->view() == key->view()) return known;
        }
        if (key->size <= kShared && keys_.size() < kShared) keys_.push_back(key);
        return key;
    }

    Vm& vm_;
    Str* source_;
    std::string_view text_;
    size_t at_;
    const DecodeOptions& options_;
    Ticker ticker_;
    std::vector<Ref> keys_;
};

}  // namespace

size_t skip_space(std::string_view text, size_t at) {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n' || text[at] == '\r' || text[at] == '\t')) at++;
    return at;
}

Ref decode(Vm& vm, Str* text, size_t& at, const DecodeOptions& options) {
    Ref keep{Value::object(text)};
    Decoder decoder(vm, text, at, options);
    Ref value = decoder.value();
    at = decoder.at();
    return value;
}

}  // namespace talc::stdlib::json
