// re: regular expressions by PCRE2. Python's spelling is rewritten where it differs; a limit on the work of one match
// keeps a pattern with too many ways to match from hanging the host.
#include <pcre2.h>

#include <memory>

#include "base/text/utf8.hpp"
#include "stdlib/modules.hpp"
#include "stdlib/modules/re_check.hpp"
#include "stdlib/modules/re_match.hpp"
#include "stdlib/support.hpp"
#include "vm/containers.hpp"

namespace talc::stdlib {

namespace {

constexpr uint32_t kMatchLimit = 10'000'000;      // steps of the matcher
constexpr uint32_t kHeapLimit = 64 * 1024;        // KiB of its own memory
enum Flag : int64_t { kIgnoreCase = 2, kMultiline = 8, kDotAll = 16, kVerbose = 64, kAscii = 256 };

struct Program final : ForeignState {
    pcre2_code* code = nullptr;
    pcre2_match_data* data = nullptr;
    pcre2_match_context* context = nullptr;
    uint32_t groups = 0;
    bool bytes = false;      // a pattern for bytes
    ~Program() override {
        pcre2_match_data_free(data);
        pcre2_match_context_free(context);
        pcre2_code_free(code);
    }
};

constexpr NativeClass kProgram{"Program", "re", Kind::Foreign, nullptr, true};

bool is_hex(std::string_view text, size_t at, size_t count) {
    if (at + count > text.size()) return false;
    for (size_t i = at; i < at + count; i++) {
        if (!std::isxdigit(static_cast<unsigned char>(text[i]))) return false;
    }
    return true;
}

// Python's pattern in PCRE2's spelling: \Z is \z there, \uXXXX and \UXXXXXXXX are \x{...}, {,n} is {0,n}.
std::string rewrite(std::string_view pattern) {
    std::string out;
    bool in_set = false;
    for (size_t i = 0; i < pattern.size(); i++) {
        char c = pattern[i];
        if (c == '\\' && i + 1 < pattern.size()) {
            char next = pattern[++i];
            if (next == 'Z' && !in_set) {
                out += "\\z";
            } else if ((next == 'u' && is_hex(pattern, i + 1, 4)) || (next == 'U' && is_hex(pattern, i + 1, 8))) {
                size_t digits = next == 'u' ? 4 : 8;
                out += "\\x{";
                out += pattern.substr(i + 1, digits);
                out += '}';
                i += digits;
            } else {
                out += c;
                out += next;
            }
            continue;
        }
        if (c == '[' && !in_set) {
            in_set = true;
            out += c;
            if (i + 1 < pattern.size() && pattern[i + 1] == '^') out += pattern[++i];
            if (i + 1 < pattern.size() && pattern[i + 1] == ']') {
                out += "\\]";
                i++;
            }
            continue;
        }
        if (in_set && c == '[') {
            out += "\\[";  // no POSIX classes in Python
            continue;
        }
        if (c == ']') in_set = false;
        if (!in_set && c == '{' && i + 1 < pattern.size() && pattern[i + 1] == ',') {
            size_t end = i + 2;
            while (end < pattern.size() && std::isdigit(static_cast<unsigned char>(pattern[end]))) end++;
            if (end > i + 2 && end < pattern.size() && pattern[end] == '}') {
                out += "{0";
                continue;
            }
        }
        out += c;
    }
    return out;
}

// What PCRE2 finds wrong though CPython would take it.
std::string message_for(int error) {
    PCRE2_UCHAR buffer[256];
    int length = pcre2_get_error_message(error, buffer, sizeof buffer);
    return length > 0 ? std::string(reinterpret_cast<char*>(buffer), static_cast<size_t>(length)) : "invalid pattern";
}

std::u32string code_points(std::string_view text, bool bytes) {
    std::u32string out;
    const char* end = text.data() + text.size();
    for (const char* at = text.data(); at < end;) {
        out += bytes ? static_cast<unsigned char>(*at++) : text::decode(at, end);
    }
    return out;
}

uint32_t options_for(int64_t flags, bool bytes) {
    uint32_t options = bytes ? 0 : PCRE2_UTF | PCRE2_MATCH_INVALID_UTF;
    if (!(flags & kAscii) && !bytes) options |= PCRE2_UCP;
    if (flags & kIgnoreCase) options |= PCRE2_CASELESS;
    if (flags & kMultiline) options |= PCRE2_MULTILINE;
    if (flags & kDotAll) options |= PCRE2_DOTALL;
    if (flags & kVerbose) options |= PCRE2_EXTENDED;
    return options;
}

// A script can reach the functions below too, with anything.
Program& program_of(Vm& vm, Value v) {
    if (!v.is_kind(Kind::Foreign) || v.o->cls != native_class(vm, kProgram)) {
        raise(vm, Exc::TypeError, "a compiled pattern is required, not '{}'", class_name(vm, v));
    }
    return *foreign_cast<Program>(v);
}

// What is searched: a str or bytes.
struct Subject {
    Value value;
    std::string_view data;
    Str* text;  // null: bytes

    int64_t length() const { return text ? text->length : static_cast<int64_t>(data.size()); }
    size_t offset(int64_t index) const { return text ? str_offset(text, index) : static_cast<size_t>(index); }
    bool plain() const { return !text || text->ascii(); }
    Ref slice(Vm& vm, size_t begin, size_t end) const {
        if (text) return make_str(vm, data.substr(begin, end - begin));
        return make_bytes(vm, data.substr(begin, end - begin));
    }
};

Subject subject_of(Vm& vm, const Program& program, Value value) {
    if (value.is_kind(Kind::Str)) {
        if (program.bytes) raise(vm, Exc::TypeError, "cannot use a bytes pattern on a string-like object");
        return {value, cast<Str>(value)->view(), cast<Str>(value)};
    }
    if (!value.is_kind(Kind::Bytes)) {
        raise(vm, Exc::TypeError, "expected string or bytes-like object, got '{}'", class_name(vm, value));
    }
    if (!program.bytes) raise(vm, Exc::TypeError, "cannot use a string pattern on a bytes-like object");
    return {value, cast<Bytes>(value)->view(), nullptr};
}

// Code point offsets of byte offsets, which come in rising order more often than not.
class Counter {
  public:
    explicit Counter(const Subject& subject) : subject_(subject) {}
    int64_t at(size_t byte) {
        if (subject_.plain()) return static_cast<int64_t>(byte);
        if (byte < byte_) byte_ = 0, count_ = 0;
        for (; byte_ < byte; byte_++) count_ += (static_cast<unsigned char>(subject_.data[byte_]) & 0xC0) != 0x80;
        return count_;
    }

  private:
    const Subject& subject_;
    size_t byte_ = 0;
    int64_t count_ = 0;
};

}  // namespace

void fill_re(Vm& vm, Module* module) { set_value(vm, module, "Match", match_class(vm)); }

Ref re_compile(Vm& vm, const Args& args) {
    bool bytes = args[0].is_kind(Kind::Bytes);
    std::string_view pattern = bytes ? cast<Bytes>(args[0])->view() : to_text(vm, args[0], "pattern");
    int64_t flags = to_index(vm, args[1]);
    if (auto wrong = check_pattern(code_points(pattern, bytes), bytes, flags & kVerbose)) {
        Ref message = make_str(vm, wrong->message);
        return make_tuple(vm, {message, wrong->position ? Value::integer(*wrong->position) : Value::none()});
    }
    std::string text = rewrite(pattern);
    int error = 0;
    PCRE2_SIZE offset = 0;
    auto program = std::make_unique<Program>();
    program->bytes = bytes;
    program->code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(),
                                  options_for(flags, bytes), &error, &offset, nullptr);
    if (!program->code) {
        Ref message = make_str(vm, message_for(error));
        return make_tuple(vm, {message, Value::integer(static_cast<int64_t>(std::min(offset, pattern.size())))});
    }
    pcre2_jit_compile(program->code, PCRE2_JIT_COMPLETE);  // where it cannot, the interpreter matches
    program->data = pcre2_match_data_create_from_pattern(program->code, nullptr);
    program->context = pcre2_match_context_create(nullptr);
    if (!program->data || !program->context) throw std::bad_alloc();
    pcre2_set_match_limit(program->context, kMatchLimit);
    pcre2_set_heap_limit(program->context, kHeapLimit);
    pcre2_pattern_info(program->code, PCRE2_INFO_CAPTURECOUNT, &program->groups);
    return make_foreign(vm, native_class(vm, kProgram), std::move(program));
}

Ref re_info(Vm& vm, const Args& args) {
    Program& program = program_of(vm, args[0]);
    uint32_t count = 0, size = 0;
    PCRE2_SPTR names = nullptr;
    pcre2_pattern_info(program.code, PCRE2_INFO_NAMECOUNT, &count);
    pcre2_pattern_info(program.code, PCRE2_INFO_NAMEENTRYSIZE, &size);
    pcre2_pattern_info(program.code, PCRE2_INFO_NAMETABLE, &names);
    // In the order of the groups, as CPython has them; PCRE2 sorts by name.
    std::vector<std::pair<int64_t, const char*>> rows;
    for (uint32_t i = 0; i < count; i++) {
        PCRE2_SPTR row = names + i * size;
        rows.emplace_back(row[0] << 8 | row[1], reinterpret_cast<const char*>(row + 2));
    }
    std::sort(rows.begin(), rows.end());
    Ptr<Dict> index = make_dict(vm);
    for (auto [group, name] : rows) dict_set(vm, index.get(), Ref(intern(vm, name)), Value::integer(group));
    return make_tuple(vm, {Value::integer(program.groups), index});
}

namespace {

// The part of a subject that is looked at, in bytes.
struct Part {
    Subject subject;
    size_t start, end;
    bool empty;  // pos lies behind endpos
};

Part part_of(Vm& vm, const Program& program, Value value, Value from, Value to) {
    Subject subject = subject_of(vm, program, value);
    int64_t length = subject.length();
    auto clip = [&](Value v) { return std::clamp<int64_t>(to_index(vm, v), 0, length); };
    int64_t pos = clip(from), endpos = to.is_none() ? length : clip(to);
    if (pos > endpos) return {subject, 0, 0, true};
    return {subject, subject.offset(pos), endpos == length ? subject.data.size() : subject.offset(endpos), false};
}

// The spans of the next match from part.start on, in bytes; null: there is none.
PCRE2_SIZE* match_next(Vm& vm, Program& program, const Part& part, uint32_t options) {
    vm.tick(1);
    int found = pcre2_match(program.code, reinterpret_cast<PCRE2_SPTR>(part.subject.data.data()), part.end, part.start,
                            options, program.data, program.context);
    if (found == PCRE2_ERROR_NOMATCH) return nullptr;
    if (found == PCRE2_ERROR_MATCHLIMIT || found == PCRE2_ERROR_DEPTHLIMIT || found == PCRE2_ERROR_HEAPLIMIT ||
        found == PCRE2_ERROR_JIT_STACKLIMIT) {
        raise(vm, Exc::RuntimeError, "the match was given up: the pattern has too many ways to match this text");
    }
    if (found < 0) raise(vm, Exc::RuntimeError, "the matcher failed (PCRE2 error {})", found);
    return pcre2_get_ovector_pointer(program.data);
}

// body(spans) for one match after the other until it gives false.
template <class F>
void each_match(Vm& vm, Program& program, Part part, F&& body) {
    uint32_t options = 0;
    while (PCRE2_SIZE* spans = match_next(vm, program, part, options)) {
        part.start = spans[1];
        options = spans[0] == spans[1] ? PCRE2_NOTEMPTY_ATSTART : 0;
        if (!body(spans)) return;
    }
}

Ref positions_of(Vm& vm, const Program& program, const PCRE2_SIZE* spans, Counter& counter) {
    size_t count = 2 * (size_t{program.groups} + 1);
    Tuple* tuple = make_raw_tuple(vm, count);
    for (size_t i = 0; i < count; i++) {
        tuple->items[i] = Value::integer(spans[i] == PCRE2_UNSET ? -1 : counter.at(spans[i]));
    }
    Ptr<Tuple> owned = Ptr<Tuple>::steal(tuple);
    track_tuple(vm, tuple);
    return owned;
}

Ref group_text(Vm& vm, const Subject& subject, const PCRE2_SIZE* spans, size_t group) {
    if (spans[2 * group] == PCRE2_UNSET) return subject.slice(vm, 0, 0);
    return subject.slice(vm, spans[2 * group], spans[2 * group + 1]);
}

}  // namespace

Ref re_exec(Vm& vm, const Args& args) {
    Program& program = program_of(vm, args[1]);
    Part part = part_of(vm, program, args[2], args[3], args[4]);
    if (part.empty) return Value::none();
    int64_t mode = to_index(vm, args[5]);
    uint32_t options = 0;
    if (mode >= 1) options |= PCRE2_ANCHORED;
    if (mode == 2) options |= PCRE2_ENDANCHORED;
    if (truth(vm, args[6])) options |= PCRE2_NOTEMPTY_ATSTART;
    PCRE2_SIZE* spans = match_next(vm, program, part, options);
    if (!spans) return Value::none();
    Counter counter(part.subject);
    int64_t length = part.subject.length();
    FoundMatch found{args[0], args[2], std::clamp<int64_t>(to_index(vm, args[7]), 0, length), length, {}};
    if (!args[4].is_none()) found.endpos = std::clamp<int64_t>(to_index(vm, args[4]), 0, length);
    size_t count = 2 * (size_t{program.groups} + 1);
    found.spans.reserve(count);
    for (size_t k = 0; k < count; k++) found.spans.push_back(spans[k] == PCRE2_UNSET ? -1 : counter.at(spans[k]));
    return make_match(vm, std::move(found));
}

Ref re_match(Vm& vm, const Args& args) {
    if (!args[2].is_kind(Kind::Tuple)) raise(vm, Exc::TypeError, "spans are a tuple, not '{}'", class_name(vm, args[2]));
    auto* spans = cast<Tuple>(args[2]);
    if (!is_str(args[1]) && !args[1].is_kind(Kind::Bytes)) raise(vm, Exc::TypeError, "a text is required, not '{}'", class_name(vm, args[1]));
    FoundMatch found{args[0], args[1], 0, length(vm, args[1]), {}};
    for (size_t k = 0; k < spans->size; k++) found.spans.push_back(to_index(vm, spans->items[k]));
    bool valid = found.spans.size() >= 2 && found.spans.size() % 2 == 0 && found.spans[0] >= 0;
    for (size_t k = 0; valid && k < found.spans.size(); k += 2) {
        int64_t begin = found.spans[k], end = found.spans[k + 1];
        valid = (begin == -1 && end == -1) || (begin >= 0 && begin <= end && end <= found.endpos);
    }
    if (!valid) raise(vm, Exc::ValueError, "these are no spans of a match");
    return make_match(vm, std::move(found));
}

Ref re_findall(Vm& vm, const Args& args) {
    Program& program = program_of(vm, args[0]);
    Part part = part_of(vm, program, args[1], args[2], args[3]);
    Ptr<List> found = make_list(vm);
    if (part.empty) return found;
    each_match(vm, program, part, [&](const PCRE2_SIZE* spans) {
        if (program.groups < 2) {
            list_append(vm, found.get(), group_text(vm, part.subject, spans, program.groups));
            return true;
        }
        std::vector<Ref> texts;
        for (size_t group = 1; group <= program.groups; group++) texts.push_back(group_text(vm, part.subject, spans, group));
        std::vector<Value> plain(texts.begin(), texts.end());
        list_append(vm, found.get(), Ref(make_tuple(vm, plain.data(), plain.size())));
        return true;
    });
    return found;
}

Ref re_scan(Vm& vm, const Args& args) {
    Program& program = program_of(vm, args[0]);
    Part part = part_of(vm, program, args[1], args[2], args[3]);
    int64_t limit = to_index(vm, args[4]);
    Ptr<List> found = make_list(vm);
    if (part.empty) return found;
    Counter counter(part.subject);
    each_match(vm, program, part, [&](const PCRE2_SIZE* spans) {
        list_append(vm, found.get(), positions_of(vm, program, spans, counter));
        return limit <= 0 || found->size < static_cast<size_t>(limit);
    });
    return found;
}

}  // namespace talc::stdlib
