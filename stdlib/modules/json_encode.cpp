#include <algorithm>
#include <cmath>

#include "base/text/number_text.hpp"
#include "base/text/utf8.hpp"
#include "stdlib/modules/json.hpp"
#include "vm/format.hpp"

namespace talc::stdlib::json {

namespace {

class Encoder {
  public:
    Encoder(Vm& vm, const EncodeOptions& options) : vm_(vm), options_(options), out_(text_limit(vm)), ticker_(vm) {}

    Ref run(Value value) {
        append(value);
        return make_str(vm_, out_);
    }

  private:
    void append(Value v) {
        ticker_.step();
        switch (v.tag) {
            case Tag::None: return out_.append("null");
            case Tag::Bool: return out_.append(v.b ? "true" : "false");
            case Tag::Int: return text::append_int(out_, v.i);
            case Tag::Float: return append_float(v.f);
            case Tag::Obj: break;
            default: return append_fallback(v);
        }
        switch (v.o->kind) {
            case Kind::Str: return append_string(cast<Str>(v)->view());
            case Kind::BoxedInt: return text::append_int(out_, cast<BoxedInt>(v)->value);
            case Kind::BoxedFloat: return append_float(cast<BoxedFloat>(v)->value);
            case Kind::List:
            case Kind::Tuple: return append_array(v);
            case Kind::Dict: return append_object(cast<Dict>(v));
            default: return append_fallback(v);
        }
    }

    void append_float(double x) {
        if (std::isfinite(x)) return text::append_float_repr(out_, x);
        if (!options_.allow_nan) raise(vm_, Exc::ValueError, "Out of range float values are not JSON compliant");
        out_.append(std::isnan(x) ? "NaN" : x > 0 ? "Infinity" : "-Infinity");
    }

    void append_escape(char32_t c) {
        constexpr char kHex[] = "0123456789abcdef";
        out_.append("\\u");
        for (int shift = 12; shift >= 0; shift -= 4) out_.push_back(kHex[(c >> shift) & 15]);
    }

    void append_string(std::string_view s) {
        out_.push_back('"');
        const char* end = s.data() + s.size();
        const char* plain = s.data();  // what can be copied begins here
        for (const char* p = s.data(); p < end;) {
            auto c = static_cast<unsigned char>(*p);
            bool copied = c >= 0x20 && c != '"' && c != '\\' && (c < 0x7F || !options_.ensure_ascii);
            if (copied) {
                p++;
                continue;
            }
            out_.append({plain, static_cast<size_t>(p - plain)});
            switch (c) {
                case '"': out_.append("\\\""); p++; break;
                case '\\': out_.append("\\\\"); p++; break;
                case '\n': out_.append("\\n"); p++; break;
                case '\r': out_.append("\\r"); p++; break;
                case '\t': out_.append("\\t"); p++; break;
                case '\f': out_.append("\\f"); p++; break;
                case '\b': out_.append("\\b"); p++; break;
                default: {
                    char32_t point = text::decode(p, end);
                    if (point >= 0x10000) {  // a pair of surrogates
                        append_escape(0xD800 + ((point - 0x10000) >> 10));
                        point = 0xDC00 + ((point - 0x10000) & 0x3FF);
                    }
                    append_escape(point);
                }
            }
            plain = p;
        }
        out_.append({plain, static_cast<size_t>(end - plain)});
        out_.push_back('"');
    }

    // ---- Containers ----

    void enter(const Object* object) {
        if (options_.check_circular && std::find(open_.begin(), open_.end(), object) != open_.end()) {
            raise(vm_, Exc::ValueError, "Circular reference detected");
        }
        open_.push_back(object);
    }
    void leave() { open_.pop_back(); }

    void new_line() {
        if (!options_.has_indent) return;
        out_.push_back('\n');
        for (size_t i = 0; i < level_; i++) out_.append(options_.indent);
    }
    void separate(bool first) {
        if (!first) out_.append(options_.item_separator);
        new_line();
    }

    void append_array(Value v) {
        RecursionGuard guard(vm_);
        bool is_list = v.is_kind(Kind::List);
        auto size = [&] { return is_list ? cast<List>(v)->size : cast<Tuple>(v)->size; };
        if (size() == 0) return out_.append("[]");
        enter(v.o);
        out_.push_back('[');
        level_++;
        for (size_t i = 0; i < size(); i++) {
            separate(i == 0);
            Ref item = is_list ? cast<List>(v)->items[i] : cast<Tuple>(v)->items[i];
            append(item);
        }
        level_--;
        new_line();
        out_.push_back(']');
        leave();
    }

    void append_object(Dict* dict) {
        RecursionGuard guard(vm_);
        if (dict->used == 0) return out_.append("{}");
        enter(dict);
        out_.push_back('{');
        level_++;
        bool first = true;
        if (options_.sort_keys) {
            Ptr<List> items = make_list(vm_);
            for (size_t i = 0; DictEntry* entry = dict_entry(dict, i); i++) {
                list_append(vm_, items.get(), Ref(make_tuple(vm_, {entry->key, entry->value})));
            }
            sort_list(vm_, items.get(), Value::none(), false);
            for (size_t i = 0; i < items->size; i++) {
                Value* pair = cast<Tuple>(items->items[i])->items;
                append_member(pair[0], pair[1], first);
            }
        } else {
            for (size_t i = 0; DictEntry* entry = dict_entry(dict, i); i++) {
                Ref key = entry->key;
                Ref value = entry->value;
                append_member(key, value, first);
            }
        }
        level_--;
        if (!first || !options_.has_indent) new_line();
        out_.push_back('}');
        leave();
    }

    void append_member(Value key, Value value, bool& first) {
        if (!is_str(key) && !is_number(key) && !key.is_none()) {
            if (options_.skip_keys) return;
            raise(vm_, Exc::TypeError, "keys must be str, int, float, bool or None, not {}", class_name(vm_, key));
        }
        separate(first);
        first = false;
        if (is_str(key)) {
            append_string(cast<Str>(key)->view());
        } else {
            out_.push_back('"');
            append(key);
            out_.push_back('"');
        }
        out_.append(options_.key_separator);
        append(value);
    }

    void append_fallback(Value v) {
        if (options_.fallback.is_none()) {
            raise(vm_, Exc::TypeError, "Object of type {} is not JSON serializable", class_name(vm_, v));
        }
        RecursionGuard guard(vm_);
        if (v.is_obj()) enter(v.o);
        Ref other = call(vm_, options_.fallback, v);
        append(other);
        if (v.is_obj()) leave();
    }

    Vm& vm_;
    const EncodeOptions& options_;
    text::Buffer out_;
    Ticker ticker_;
    std::vector<const Object*> open_;  // containers that are being written
    size_t level_ = 0;
};

}  // namespace

Ref encode(Vm& vm, Value value, const EncodeOptions& options) { return Encoder(vm, options).run(value); }

}  // namespace talc::stdlib::json
