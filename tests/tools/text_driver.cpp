// Runs functions of base/text on cases from standard input, for text_oracle.py, which compares the answers
// with CPython's. A case is one line of tab-separated fields: the function's name and its arguments, each
// with \t \n \r \\ escaped. An answer is one line: the result as CPython's repr shows it, or "!ValueError:
// message".
#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "base/text/bytes_methods.hpp"
#include "base/text/format_spec.hpp"
#include "base/text/format_template.hpp"
#include "base/text/hash.hpp"
#include "base/text/number_parse.hpp"
#include "base/text/number_text.hpp"
#include "base/text/percent_format.hpp"
#include "base/text/repr.hpp"
#include "base/text/search.hpp"
#include "base/text/split.hpp"
#include "base/text/str_methods.hpp"
#include "base/text/suggest.hpp"

namespace {

using namespace talc::text;
using Args = std::vector<std::string>;

std::string unescape(std::string_view s) {
    std::string out;
    for (size_t i = 0; i < s.size(); ++i) {
        if (s[i] != '\\' || i + 1 == s.size()) {
            out += s[i];
            continue;
        }
        char c = s[++i];
        out += c == 't' ? '\t' : c == 'n' ? '\n' : c == 'r' ? '\r' : c == '0' ? '\0' : c;
    }
    return out;
}

// What a random width may ask for; more is a MemoryError.
constexpr size_t kMostBytes = size_t{1} << 28;

int64_t to_int(const std::string& s) { return std::stoll(s); }
double to_float(const std::string& s) { return *parse_float_hex(s); }

std::string shown(std::string_view s) { return make(append_str_repr, s); }
std::string shown(bool value) { return value ? "True" : "False"; }
std::string shown(int64_t value) { return make(append_int, value); }
std::string shown(double value) { return make(append_float_repr, value); }

std::string shown(const Pieces& pieces) {
    std::string out = "[";
    for (size_t i = 0; i < pieces.size(); ++i) out += (i == 0 ? "" : ", ") + shown(pieces[i]);
    return out + "]";
}

std::string shown(const Parts& p) {
    return "(" + shown(p.head) + ", " + shown(p.separator) + ", " + shown(p.tail) + ")";
}

std::string shown(const Failure& failure) {
    static const char* const kNames[] = {"ValueError", "TypeError", "OverflowError", "IndexError",
                                         "KeyError"};
    return fmt::format("!{}: {}", kNames[static_cast<size_t>(failure.kind)], failure.message);
}

template <class Function, class... More>
std::string made(Function function, More&&... more) {
    return shown(make(function, std::forward<More>(more)...));
}

template <class Function, class... More>
std::string checked(Function function, More&&... more) {
    Buffer out(kMostBytes);
    Status status = function(out, std::forward<More>(more)...);
    return status ? shown(out.view()) : shown(status.failure());
}

// An argument of "%" and format: i:1, f:0x1p0, s:text.
struct Argument {
    char kind = 's';
    std::string text;

    int64_t as_int() const { return to_int(text); }
    double as_float() const { return kind == 'i' ? static_cast<double>(as_int()) : to_float(text); }
    const char* type_name() const { return kind == 'i' ? "int" : kind == 'f' ? "float" : "str"; }
    void append_str(Buffer& out) const {
        if (kind == 'i') return append_int(out, as_int());
        if (kind == 'f') return append_float_repr(out, as_float());
        out.append(text);
    }
    void append_repr(Buffer& out) const {
        if (kind == 's') return append_str_repr(out, text);
        append_str(out);
    }
};

std::vector<Argument> arguments(const Args& args, size_t from) {
    std::vector<Argument> out;
    for (size_t i = from; i < args.size(); ++i) out.push_back({args[i][0], args[i].substr(2)});
    return out;
}

Status percent_conversion(Buffer& out, const PercentSpec& spec, const Argument& arg) {
    switch (spec.type) {
        case 's':
        case 'r':
        case 'a': {
            Buffer text;
            if (spec.type == 's') {
                arg.append_str(text);
            } else if (spec.type == 'r') {
                arg.append_repr(text);
            } else {
                Buffer repr;
                arg.append_repr(repr);
                append_ascii_escaped(text, repr);
            }
            append_percent_text(out, spec, text);
            return {};
        }
        case 'd':
        case 'i':
        case 'u':
            if (arg.kind == 'f') {
                auto whole = float_to_int(arg.as_float());
                return whole ? append_percent_int(out, spec, *whole) : Status(whole.failure());
            }
            [[fallthrough]];
        case 'o':
        case 'x':
        case 'X':
            if (arg.kind != 'i') return needs_number(spec, arg.type_name());
            return append_percent_int(out, spec, arg.as_int());
        case 'e':
        case 'E':
        case 'f':
        case 'F':
        case 'g':
        case 'G':
            if (arg.kind == 's') return type_error("must be real number, not str");
            append_percent_float(out, spec, arg.as_float());
            return {};
        case 'c':
            if (arg.kind == 'i') return append_percent_char(out, spec, arg.as_int());
            if (arg.kind == 'f' || code_point_count(arg.text) != 1)
                return type_error(std::string(kNeedsChar));
            append_percent_text(out, spec, arg.text);
            return {};
        default:
            return unsupported(spec);
    }
}

// The template and a tuple of arguments.
Status percent(Buffer& out, const Args& args) {
    std::vector<Argument> values = arguments(args, 1);
    size_t used = 0;
    PercentReader reader(args[0]);
    PercentSpec spec;
    while (true) {
        for (std::string_view s = reader.literal(); !s.empty(); s = reader.literal()) out.append(s);
        if (!reader.conversion(spec)) break;
        if (spec.has_key) return type_error(std::string(kNeedsMapping));
        for (bool* star : {&spec.width_from_args, &spec.precision_from_args}) {
            if (!*star) continue;
            if (used == values.size()) return type_error(std::string(kTooFewArguments));
            const Argument& arg = values[used++];
            if (arg.kind != 'i') return type_error(std::string(kStarWantsInt));
            star == &spec.width_from_args ? spec.set_width(arg.as_int()) : spec.set_precision(arg.as_int());
        }
        if (!spec.error) return spec.error.failure();
        if (used == values.size()) return type_error(std::string(kTooFewArguments));
        Status status = percent_conversion(out, spec, values[used++]);
        if (!status) return status;
    }
    if (used != values.size()) return type_error(std::string(kTooManyArguments));
    return {};
}

// A template whose fields are all positional, without attributes.
Status format(Buffer& out, std::string_view text, const std::vector<Argument>& values,
              FieldNumbering& numbering, int depth) {
    if (depth == 0) return value_error(std::string(kTemplateTooDeep));
    TemplateReader reader(text);
    TemplatePiece piece;
    while (true) {
        bool done = false;
        Status status = reader.next(piece, done);
        if (!status) return status;
        if (done) return {};
        out.append(piece.literal);
        if (!piece.has_field) continue;
        auto start = numbering.begin(piece.field);
        if (!start) return start.failure();
        if (!start->is_index) return Failure{ErrorKind::KeyError, shown(start->name)};
        if (start->index >= static_cast<int64_t>(values.size())) return index_out_of_range(start->index);
        auto step = start->path.next();
        if (!step) return step.failure();
        if (step->kind != FieldStep::End) return type_error("not looked at");
        const Argument& arg = values[static_cast<size_t>(start->index)];
        Buffer converted;
        switch (piece.conversion) {
            case 0:
                break;
            case 's':
                arg.append_str(converted);
                break;
            case 'r':
                arg.append_repr(converted);
                break;
            case 'a': {
                Buffer repr;
                arg.append_repr(repr);
                append_ascii_escaped(converted, repr);
                break;
            }
            default:
                return unknown_conversion(piece.conversion);
        }
        Buffer expanded;
        if (piece.nested) {
            status = format(expanded, piece.spec, values, numbering, depth - 1);
            if (!status) return status;
            piece.spec = expanded;
        }
        if (piece.conversion != 0 || arg.kind == 's') {
            status = format_str(out, piece.conversion != 0 ? converted.view() : std::string_view(arg.text),
                                piece.spec);
        } else if (arg.kind == 'i') {
            status = format_int(out, arg.as_int(), piece.spec);
        } else {
            status = format_float(out, arg.as_float(), piece.spec);
        }
        if (!status) return status;
    }
}

std::string code_point_row(char32_t c) {
    std::string s(4, '\0');
    s.resize(encode(c, s.data()));
    std::string row;
    for (bool b :
         {is_alpha(s), is_decimal(s), is_digit(s), is_numeric(s), is_alnum(s), is_space(s), is_lower(s),
          is_upper(s), is_title(s), is_printable(s), is_identifier(s), is_identifier("a" + s)}) {
        row += b ? '1' : '0';
    }
    if (!is_surrogate(c)) {
        for (auto* map : {append_upper, append_lower, append_title, append_casefolded, append_swapped_case}) {
            row += " " + make(map, s);
        }
        row += " " + make(append_lower, "A\u03a3" + s + "A") + make(append_lower, "A\u03a3" + s);
    }
    return row;
}

std::string bytes_shown(std::string_view b) { return make(append_bytes_repr, b); }

using Case = std::function<std::string(const Args&)>;

template <class Split>
std::string split_with(Split split) {
    Pieces pieces;
    split(pieces);
    return shown(pieces);
}

std::map<std::string, Case, std::less<>> number_cases() {
    return {
        {"float_repr", [](const Args& a) { return shown(to_float(a[0])); }},
        {"float_hex", [](const Args& a) { return made(append_float_hex, to_float(a[0])); }},
        {"round",
         [](const Args& a) {
             auto r = round_to_digits(to_float(a[0]), to_int(a[1]));
             return r ? shown(*r) : shown(r.failure());
         }},
        {"round0",
         [](const Args& a) {
             auto r = float_to_int(round_half_even(to_float(a[0])));
             return r ? shown(*r) : shown(r.failure());
         }},
        {"ratio",
         [](const Args& a) {
             auto r = as_integer_ratio(to_float(a[0]));
             return r ? fmt::format("({}, {})", r->numerator, r->denominator) : shown(r.failure());
         }},
        {"is_integer", [](const Args& a) { return shown(is_integer(to_float(a[0]))); }},
        {"parse_int",
         [](const Args& a) {
             auto base = static_cast<unsigned>(to_int(a[1]));
             auto r = parse_int(a[0], base);
             if (r.outcome == ParseOutcome::TooLarge) return std::string("too large");
             return r.outcome == ParseOutcome::Ok ? shown(r.value)
                                                  : "!ValueError: " + invalid_int_message(a[0], base);
         }},
        {"parse_float",
         [](const Args& a) {
             auto r = parse_float(a[0]);
             return r ? shown(*r) : "!ValueError: " + invalid_float_message(a[0]);
         }},
        {"fromhex",
         [](const Args& a) {
             auto r = parse_float_hex(a[0]);
             return r ? shown(*r) : shown(r.failure());
         }},
        {"bin", [](const Args& a) { return made(append_prefixed_int, to_int(a[0]), 2u); }},
        {"oct", [](const Args& a) { return made(append_prefixed_int, to_int(a[0]), 8u); }},
        {"hex", [](const Args& a) { return made(append_prefixed_int, to_int(a[0]), 16u); }},
        {"hash_int", [](const Args& a) { return shown(hash_int(to_int(a[0]))); }},
        {"hash_float", [](const Args& a) { return shown(hash_float(to_float(a[0]))); }},
        {"hash_tuple",
         [](const Args& a) {
             TupleHasher hasher;
             for (const auto& item : a) hasher.add(hash_int(to_int(item)));
             return shown(hasher.finish());
         }},
        {"hash_frozenset",
         [](const Args& a) {
             FrozensetHasher hasher;
             for (const auto& item : a) hasher.add(hash_int(to_int(item)));
             return shown(hasher.finish());
         }},
        {"format_int", [](const Args& a) { return checked(format_int, to_int(a[0]), a[1], "int"); }},
        {"format_bool", [](const Args& a) { return checked(format_bool, a[0] == "1", a[1], "bool"); }},
        {"format_float", [](const Args& a) { return checked(format_float, to_float(a[0]), a[1], "float"); }},
        {"format_str", [](const Args& a) { return checked(format_str, a[0], a[1], "str"); }},
        {"percent", [](const Args& a) { return checked(percent, a); }},
        {"format",
         [](const Args& a) {
             FieldNumbering numbering;
             Buffer out(kMostBytes);
             Status status = format(out, a[0], arguments(a, 1), numbering, kTemplateDepth);
             return status ? shown(out.view()) : shown(status.failure());
         }},
    };
}

std::map<std::string, Case, std::less<>> bytes_cases() {
    std::map<std::string, Case, std::less<>> cases = {
        {"bytes_hex", [](const Args& a) { return made(append_hex, a[0], a[1], to_int(a[2])); }},
        {"bytes_fromhex",
         [](const Args& a) {
             Buffer out;
             Status status = append_from_hex(out, a[0]);
             return status ? bytes_shown(out) : shown(status.failure());
         }},
        {"bytes_expandtabs",
         [](const Args& a) { return bytes_shown(make(append_bytes_expanded_tabs, a[0], to_int(a[1]))); }},
        {"bytes_replace",
         [](const Args& a) {
             Buffer out;
             bool done = append_replaced(out, a[0], a[1], a[2], to_int(a[3]), Unit::Byte);
             return bytes_shown(done ? out.view() : std::string_view(a[0]));
         }},
        {"bytes_strip_of", [](const Args& a) { return bytes_shown(strip_of(a[0], a[1], Space::Bytes)); }},
        {"bytes_strip", [](const Args& a) { return bytes_shown(strip(a[0], Space::Bytes)); }},
        {"encode",
         [](const Args& a) {
             size_t bad = find_surrogate(a[0]);
             return bad == kNotFound ? bytes_shown(a[0])
                                     : "!UnicodeEncodeError: " + surrogate_error_message(a[0], bad);
         }},
        {"stepped",
         [](const Args& a) {
             return made(append_stepped, a[0], static_cast<size_t>(to_int(a[1])), to_int(a[2]),
                         static_cast<size_t>(to_int(a[3])));
         }},
    };
    auto test = [&](const char* name, bool (*function)(std::string_view)) {
        cases[name] = [function](const Args& a) { return shown(function(a[0])); };
    };
    auto change = [&](const char* name, void (*function)(Buffer&, std::string_view)) {
        cases[name] = [function](const Args& a) { return bytes_shown(make(function, a[0])); };
    };
    auto split = [&](const char* name, auto function) {
        cases[name] = [function](const Args& a) {
            Pieces pieces;
            function(pieces, a[0], to_int(a[1]));
            std::string out;
            for (std::string_view piece : pieces) out += (out.empty() ? "" : ", ") + bytes_shown(piece);
            return "[" + out + "]";
        };
    };
    test("bytes_isalpha", bytes_is_alpha);
    test("bytes_isdigit", bytes_is_digit);
    test("bytes_isalnum", bytes_is_alnum);
    test("bytes_isspace", bytes_is_space);
    test("bytes_islower", bytes_is_lower);
    test("bytes_isupper", bytes_is_upper);
    test("bytes_istitle", bytes_is_title);
    change("bytes_upper", append_bytes_upper);
    change("bytes_lower", append_bytes_lower);
    change("bytes_title", append_bytes_title);
    change("bytes_capitalize", append_bytes_capitalized);
    change("bytes_swapcase", append_bytes_swapped_case);
    split("bytes_split",
          [](Pieces& p, std::string_view s, int64_t n) { split_space(p, s, n, Space::Bytes); });
    split("bytes_rsplit",
          [](Pieces& p, std::string_view s, int64_t n) { rsplit_space(p, s, n, Space::Bytes); });
    split("bytes_splitlines",
          [](Pieces& p, std::string_view s, int64_t n) { split_lines(p, s, n == 1, Space::Bytes); });
    return cases;
}

std::map<std::string, Case, std::less<>> text_cases() {
    return {
        {"repr", [](const Args& a) { return shown(a[0]); }},
        {"ascii", [](const Args& a) { return make(append_ascii, a[0]); }},
        {"bytes_repr", [](const Args& a) { return make(append_bytes_repr, a[0]); }},
        {"decode_replace", [](const Args& a) { return made(append_decoded_replace, a[0]); }},
        {"decode",
         [](const Args& a) {
             auto bad = find_invalid_utf8(a[0]);
             return bad ? "!UnicodeDecodeError: " + utf8_error_message(a[0], bad) : shown(a[0]);
         }},
        {"len", [](const Args& a) { return shown(static_cast<int64_t>(code_point_count(a[0]))); }},
        {"upper", [](const Args& a) { return made(append_upper, a[0]); }},
        {"lower", [](const Args& a) { return made(append_lower, a[0]); }},
        {"title", [](const Args& a) { return made(append_title, a[0]); }},
        {"capitalize", [](const Args& a) { return made(append_capitalized, a[0]); }},
        {"swapcase", [](const Args& a) { return made(append_swapped_case, a[0]); }},
        {"casefold", [](const Args& a) { return made(append_casefolded, a[0]); }},
        {"istitle", [](const Args& a) { return shown(is_title(a[0])); }},
        {"isupper", [](const Args& a) { return shown(is_upper(a[0])); }},
        {"islower", [](const Args& a) { return shown(is_lower(a[0])); }},
        {"isidentifier", [](const Args& a) { return shown(is_identifier(a[0])); }},
        {"isascii", [](const Args& a) { return shown(is_ascii(a[0])); }},
        {"strip", [](const Args& a) { return shown(strip(a[0])); }},
        {"lstrip", [](const Args& a) { return shown(strip_left(a[0])); }},
        {"rstrip", [](const Args& a) { return shown(strip_right(a[0])); }},
        {"strip_of", [](const Args& a) { return shown(strip_of(a[0], a[1])); }},
        {"lstrip_of", [](const Args& a) { return shown(strip_left_of(a[0], a[1])); }},
        {"rstrip_of", [](const Args& a) { return shown(strip_right_of(a[0], a[1])); }},
        {"split_space",
         [](const Args& a) { return split_with([&](Pieces& p) { split_space(p, a[0], to_int(a[1])); }); }},
        {"rsplit_space",
         [](const Args& a) { return split_with([&](Pieces& p) { rsplit_space(p, a[0], to_int(a[1])); }); }},
        {"split",
         [](const Args& a) { return split_with([&](Pieces& p) { split_at(p, a[0], a[1], to_int(a[2])); }); }},
        {"rsplit",
         [](const Args& a) {
             return split_with([&](Pieces& p) { rsplit_at(p, a[0], a[1], to_int(a[2])); });
         }},
        {"splitlines",
         [](const Args& a) { return split_with([&](Pieces& p) { split_lines(p, a[0], a[1] == "1"); }); }},
        {"partition", [](const Args& a) { return shown(partition(a[0], a[1])); }},
        {"rpartition", [](const Args& a) { return shown(rpartition(a[0], a[1])); }},
        {"removeprefix", [](const Args& a) { return shown(remove_prefix(a[0], a[1])); }},
        {"removesuffix", [](const Args& a) { return shown(remove_suffix(a[0], a[1])); }},
        {"find",
         [](const Args& a) {
             return shown(find_index(a[0], code_point_count(a[0]), a[1], to_int(a[2]), to_int(a[3])));
         }},
        {"rfind",
         [](const Args& a) {
             return shown(rfind_index(a[0], code_point_count(a[0]), a[1], to_int(a[2]), to_int(a[3])));
         }},
        {"count",
         [](const Args& a) {
             auto part = select_part(a[0], code_point_count(a[0]), to_int(a[2]), to_int(a[3]));
             return shown(part ? static_cast<int64_t>(count(part->text, a[1])) : int64_t{0});
         }},
        {"startswith",
         [](const Args& a) {
             auto part = select_part(a[0], code_point_count(a[0]), to_int(a[2]), to_int(a[3]));
             return shown(part && part->text.starts_with(a[1]));
         }},
        {"replace",
         [](const Args& a) {
             Buffer out;
             return shown(append_replaced(out, a[0], a[1], a[2], to_int(a[3])) ? out.view()
                                                                               : std::string_view(a[0]));
         }},
        {"center",
         [](const Args& a) {
             return made(append_centered, a[0], code_point_count(a[0]), to_int(a[1]), a[2]);
         }},
        {"ljust",
         [](const Args& a) {
             return made(append_left_justified, a[0], code_point_count(a[0]), to_int(a[1]), a[2]);
         }},
        {"rjust",
         [](const Args& a) {
             return made(append_right_justified, a[0], code_point_count(a[0]), to_int(a[1]), a[2]);
         }},
        {"zfill",
         [](const Args& a) { return made(append_zero_filled, a[0], code_point_count(a[0]), to_int(a[1])); }},
        {"expandtabs", [](const Args& a) { return made(append_expanded_tabs, a[0], to_int(a[1])); }},
        {"join",
         [](const Args& a) {
             Pieces items(a.begin() + 1, a.end());
             return made(append_joined, a[0], items);
         }},
        {"suggest",
         [](const Args& a) {
             Pieces names(a.begin() + 1, a.end());
             return shown(did_you_mean(a[0], names));
         }},
        {"code_point",
         [](const Args& a) { return shown(code_point_row(static_cast<char32_t>(to_int(a[0])))); }},
    };
}

}  // namespace

int main() {
    auto cases = number_cases();
    cases.merge(bytes_cases());
    cases.merge(text_cases());
    std::string line;
    while (std::getline(std::cin, line)) {
        Args fields;
        for (size_t from = 0;;) {
            size_t tab = line.find('\t', from);
            fields.push_back(unescape(std::string_view(line).substr(from, tab - from)));
            if (tab == std::string::npos) break;
            from = tab + 1;
        }
        auto found = cases.find(fields[0]);
        if (found == cases.end()) {
            std::cerr << "no such case: " << fields[0] << "\n";
            return 2;
        }
        fields.erase(fields.begin());
        std::string answer;
        try {
            answer = found->second(fields);
        } catch (const std::bad_alloc&) {
            answer = "!MemoryError: ";
        }
        // A message may hold characters that would end the line.
        for (char& c : answer) {
            if (c == '\n' || c == '\r') c = '?';
        }
        answer += '\n';
        std::fwrite(answer.data(), 1, answer.size(), stdout);
    }
}
