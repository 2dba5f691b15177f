#include "stdlib/codecs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/text/buffer.hpp"
#include "base/text/utf8.hpp"
#include "vm/format.hpp"

namespace talc::stdlib {

using namespace talc::vm;

namespace {

enum class Encoding { Utf8, Ascii, Latin1 };
enum class OnError { Strict, Ignore, Replace, Backslash, XmlReference };

Encoding encoding_named(Vm& vm, std::string_view name) {
    std::string plain;
    for (char c : name) {
        if (c == '_' || c == ' ') c = '-';
        plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    }
    auto is_one_of = [&](std::initializer_list<std::string_view> names) {
        return std::find(names.begin(), names.end(), plain) != names.end();
    };
    if (is_one_of({"utf-8", "utf8", "u8", "utf", "cp65001"})) return Encoding::Utf8;
    if (is_one_of({"ascii", "us-ascii", "646"})) return Encoding::Ascii;
    if (is_one_of({"latin-1", "latin1", "latin", "iso-8859-1", "iso8859-1", "8859", "l1", "cp819"})) {
        return Encoding::Latin1;
    }
    raise(vm, Exc::LookupError, "unknown encoding: {}", name);
}

// Looked at only when there is an error, so that a wrong name goes unnoticed before, as in CPython.
OnError handler_named(Vm& vm, std::string_view name, bool encoding) {
    if (name == "strict") return OnError::Strict;
    if (name == "ignore") return OnError::Ignore;
    if (name == "replace") return OnError::Replace;
    if (name == "backslashreplace") return OnError::Backslash;
    if (name == "xmlcharrefreplace" && encoding) return OnError::XmlReference;
    raise(vm, Exc::LookupError, "unknown error handler name '{}'", name);
}

const char* codec_name(Encoding encoding) {
    return encoding == Encoding::Utf8 ? "utf-8" : encoding == Encoding::Ascii ? "ascii" : "latin-1";
}

std::string escaped(char32_t c) {
    auto n = static_cast<uint32_t>(c);
    return n < 0x100 ? fmt::format("\\x{:02x}", n) : n < 0x10000 ? fmt::format("\\u{:04x}", n) : fmt::format("\\U{:08x}", n);
}

// Encodes what the codec cannot hold: the run of such characters in [first, last).
void put_unencodable(Vm& vm, text::Buffer& out, std::string_view whole, const char* first, const char* last,
                     Encoding encoding, std::string_view errors) {
    OnError handler = handler_named(vm, errors, true);
    if (handler == OnError::Strict) {
        size_t begin = text::code_point_count({whole.data(), static_cast<size_t>(first - whole.data())});
        size_t count = text::code_point_count({first, static_cast<size_t>(last - first)});
        const char* reason = encoding == Encoding::Utf8    ? "surrogates not allowed"
                             : encoding == Encoding::Ascii ? "ordinal not in range(128)"
                                                           : "ordinal not in range(256)";
        if (count == 1) {
            const char* at = first;
            raise(vm, Exc::UnicodeEncodeError, "'{}' codec can't encode character '{}' in position {}: {}",
                  codec_name(encoding), escaped(text::decode(at, last)), begin, reason);
        }
        raise(vm, Exc::UnicodeEncodeError, "'{}' codec can't encode characters in position {}-{}: {}",
              codec_name(encoding), begin, begin + count - 1, reason);
    }
    for (const char* at = first; at < last;) {
        char32_t c = text::decode(at, last);
        if (handler == OnError::Replace) out.push_back('?');
        else if (handler == OnError::Backslash) out.append(escaped(c));
        else if (handler == OnError::XmlReference) out.append(fmt::format("&#{};", static_cast<uint32_t>(c)));
    }
}

}  // namespace

Ptr<Bytes> encode_text(Vm& vm, std::string_view text, std::string_view encoding_name, std::string_view errors) {
    Encoding encoding = encoding_named(vm, encoding_name);
    if (text::is_ascii(text)) return make_bytes(vm, text);
    auto fits = [&](char32_t c) {
        return encoding == Encoding::Utf8 ? !text::is_surrogate(c) : c < (encoding == Encoding::Ascii ? 128u : 256u);
    };
    text::Buffer out(text_limit(vm));
    const char* end = text.data() + text.size();
    for (const char* at = text.data(); at < end;) {
        const char* first = at;
        char32_t c = text::decode(at, end);
        if (fits(c)) {
            if (encoding == Encoding::Utf8) out.append({first, static_cast<size_t>(at - first)});
            else out.push_back(static_cast<char>(c));
            continue;
        }
        for (const char* behind = at; behind < end && !fits(text::decode(behind, end));) at = behind;
        put_unencodable(vm, out, text, first, at, encoding, errors);
    }
    return make_bytes(vm, out);
}

Ptr<Str> decode_bytes(Vm& vm, std::string_view bytes, std::string_view encoding_name, std::string_view errors) {
    Encoding encoding = encoding_named(vm, encoding_name);
    if (text::is_ascii(bytes)) return make_str(vm, bytes);
    text::Buffer out(text_limit(vm));
    if (encoding == Encoding::Latin1) {
        for (char c : bytes) text::append_code_point(out, static_cast<unsigned char>(c));
        return make_str(vm, out);
    }
    // The next part [begin, end) that is no text.
    auto find_invalid = [&](size_t from) {
        if (encoding == Encoding::Utf8) return text::find_invalid_utf8(bytes, from);
        while (from < bytes.size() && static_cast<unsigned char>(bytes[from]) < 128) ++from;
        if (from == bytes.size()) return text::InvalidUtf8{};
        return text::InvalidUtf8{from, from + 1, "ordinal not in range(128)"};
    };
    size_t at = 0;
    while (text::InvalidUtf8 bad = find_invalid(at)) {
        out.append(bytes.substr(at, bad.begin - at));
        switch (handler_named(vm, errors, false)) {
            case OnError::Strict:
                if (encoding == Encoding::Utf8) {
                    raise(vm, Exc::UnicodeDecodeError, text::utf8_error_message(bytes, bad));
                }
                raise(vm, Exc::UnicodeDecodeError, "'ascii' codec can't decode byte 0x{:02x} in position {}: {}",
                      static_cast<unsigned char>(bytes[bad.begin]), bad.begin, bad.reason);
            case OnError::Replace: text::append_code_point(out, text::kReplacement); break;
            case OnError::Backslash:
                for (size_t i = bad.begin; i < bad.end; i++) out.append(escaped(static_cast<unsigned char>(bytes[i])));
                break;
            default: break;
        }
        at = bad.end;
    }
    out.append(bytes.substr(at));
    return make_str(vm, out);
}

CodecNames codec_names(Vm& vm, Value encoding, Value errors, std::string_view function) {
    CodecNames names;
    auto take = [&](Value v, const char* parameter, std::string_view& name) {
        if (v.is_undef()) return;
        if (!v.is_kind(Kind::Str)) {
            raise(vm, Exc::TypeError, "{}() argument '{}' must be str, not {}", function, parameter,
                  v.is_none() ? "None" : class_name(vm, v));
        }
        name = cast<Str>(v)->view();
    };
    take(encoding, "encoding", names.encoding);
    take(errors, "errors", names.errors);
    return names;
}

}  // namespace talc::stdlib
