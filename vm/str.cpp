// Strings: UTF-8 that scripts see as code points. ASCII strings index by byte.
#include <cstring>
#include <limits>
#include <vector>

#include "base/text/hash.hpp"
#include "base/text/repr.hpp"
#include "base/text/search.hpp"
#include "base/text/utf8.hpp"
#include "vm/containers.hpp"
#include "vm/shape.hpp"
#include "vm/tensor.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

namespace {

constexpr size_t kMaxBytes = std::numeric_limits<uint32_t>::max() - 64;

void set_header(Vm& vm, Str* s, size_t total) {
    s->refs = 1;
    s->kind = Kind::Str;
    s->flags = 0;
    s->aux = 0;
    s->cls = vm.classes.str;
    if (s->cls) s->cls->refs++;
    s->hash = 0;
    s->capacity = static_cast<uint32_t>(total - offsetof(Str, data) - 1);
    s->mark = 0;
}

// A string of `bytes` bytes that are not written yet; length and ASCII flag are the caller's.
Str* raw_str(Vm& vm, size_t bytes) {
    if (bytes > kMaxBytes) raise_memory_error(vm);
    size_t total = str_bytes(bytes);
    auto* s = static_cast<Str*>(vm.heap.allocate(total));
    set_header(vm, s, total);
    s->size = static_cast<uint32_t>(bytes);
    s->data[bytes] = 0;
    return s;
}

Ptr<Str> known_str(Vm& vm, std::string_view text, size_t length, bool ascii) {
    if (text.empty()) return vm.empty_str ? vm.empty_str : make_str(vm, text);
    if (ascii && text.size() == 1) return make_char(vm, static_cast<unsigned char>(text[0]));
    Str* s = raw_str(vm, text.size());
    std::memcpy(s->data, text.data(), text.size());
    s->length = static_cast<uint32_t>(length);
    if (ascii) s->flags |= kAscii;
    return Ptr<Str>::steal(s);
}

// Every so many code points may be the marked one (its number must fit in aux).
size_t mark_step(const Str* s) { return (s->length >> 16) + 1; }

}  // namespace

void finish_str(Str* s) {
    s->data[s->size] = 0;
    s->hash = 0;
    if (text::is_ascii(s->view())) {
        s->flags |= kAscii;
        s->length = s->size;
    } else {
        s->flags &= static_cast<uint8_t>(~kAscii);
        s->length = static_cast<uint32_t>(text::code_point_count(s->view()));
    }
}

Ptr<Str> make_str_buffer(Vm& vm, size_t bytes) {
    Str* s = raw_str(vm, bytes);
    s->length = 0;
    return Ptr<Str>::steal(s);
}

Ptr<Str> make_str(Vm& vm, std::string_view text) {
    if (text.size() <= 1) {
        if (text.empty()) {
            if (!vm.empty_str) {
                vm.empty_str = make_str_buffer(vm, 0);
                finish_str(vm.empty_str.get());
            }
            return vm.empty_str;
        }
        auto c = static_cast<unsigned char>(text[0]);
        if (c < 128) return make_char(vm, c);
    }
    Str* s = raw_str(vm, text.size());
    std::memcpy(s->data, text.data(), text.size());
    finish_str(s);
    return Ptr<Str>::steal(s);
}

Ptr<Str> make_ascii_str(Vm& vm, std::string_view text) { return known_str(vm, text, text.size(), true); }

Ptr<Str> make_char(Vm& vm, uint32_t code_point) {
    if (code_point < 128) {
        Ptr<Str>& shared = vm.chars[code_point];
        if (!shared) [[unlikely]] {
            Str* s = raw_str(vm, 1);
            s->data[0] = static_cast<char>(code_point);
            s->length = 1;
            s->flags |= kAscii;
            shared = Ptr<Str>::steal(s);
        }
        return shared;
    }
    char bytes[4];
    unsigned n = text::encode(code_point, bytes);
    Str* s = raw_str(vm, n);
    std::memcpy(s->data, bytes, n);
    s->length = 1;
    return Ptr<Str>::steal(s);
}

Ptr<Str> make_str_of(Vm& vm, Class* cls, std::string_view text) {
    if (cls == vm.classes.str) return make_str(vm, text);
    if (text.size() > kMaxBytes) raise_memory_error(vm);
    size_t total = str_bytes(text.size());
    auto* s = static_cast<Str*>(vm.heap.allocate(total + slots_bytes(cls)));
    set_header(vm, s, total);
    vm.classes.str->refs--;
    cls->refs++;
    s->cls = cls;
    s->size = static_cast<uint32_t>(text.size());
    if (!text.empty()) std::memcpy(s->data, text.data(), text.size());
    finish_str(s);
    init_slots(s);
    return Ptr<Str>::steal(s);
}

// ---- Interning: the table holds no reference, a string leaves it when it dies ----

Ptr<Str> intern(Vm& vm, std::string_view text) {
    auto found = vm.interned.find(text);
    if (found != vm.interned.end()) return Ptr<Str>(found->second);
    Ptr<Str> s = make_str(vm, text);
    vm.interned.emplace(s->view(), s.get());
    s->flags |= kInterned;
    return s;
}

Str* intern(Vm& vm, Str* s) {
    if (s->flags & kInterned) return s;
    auto found = vm.interned.find(s->view());
    if (found != vm.interned.end()) return found->second;
    if (s->cls != vm.classes.str) {
        // An instance of a subclass is no name; its text as a plain string is, and needs an owner.
        Ptr<Str> plain = intern(vm, s->view());
        if (vm.kept_alive.is_undef()) vm.kept_alive = make_list(vm);
        list_append(vm, cast<List>(vm.kept_alive.get()), Value::object(plain.get()));
        return plain.get();
    }
    vm.interned.emplace(s->view(), s);
    s->flags |= kInterned;
    return s;
}

// ---- Joining ----

Ptr<Str> str_concat(Vm& vm, std::string_view a, std::string_view b) {
    Str* s = raw_str(vm, a.size() + b.size());
    if (!a.empty()) std::memcpy(s->data, a.data(), a.size());
    if (!b.empty()) std::memcpy(s->data + a.size(), b.data(), b.size());
    finish_str(s);
    return Ptr<Str>::steal(s);
}

Ptr<Str> str_add(Vm& vm, const Str* a, const Str* b) {
    Str* s = raw_str(vm, size_t{a->size} + b->size);
    std::memcpy(s->data, a->data, a->size);
    std::memcpy(s->data + a->size, b->data, b->size);
    s->length = a->length + b->length;
    s->flags |= a->flags & b->flags & kAscii;
    return Ptr<Str>::steal(s);
}

Ptr<Str> str_append(Vm& vm, Ptr<Str> a, const Str* b) {
    Str* s = a.get();
    if (s->refs != 1 || (s->flags & kInterned) || s->cls != vm.classes.str || s == b) return str_add(vm, s, b);
    size_t size = size_t{s->size} + b->size;
    if (size > s->capacity) {
        size_t wanted = size + size / 2;
        if (wanted > kMaxBytes) {
            if (size > kMaxBytes) raise_memory_error(vm);
            wanted = size;
        }
        size_t total = str_bytes(wanted);
        s = static_cast<Str*>(vm.heap.reallocate(s, str_bytes(s->capacity), total));
        (void)a.release();
        a = Ptr<Str>::steal(s);
        s->capacity = static_cast<uint32_t>(total - offsetof(Str, data) - 1);
    }
    std::memcpy(s->data + s->size, b->data, b->size);
    s->data[size] = 0;
    s->size = static_cast<uint32_t>(size);
    s->length += b->length;
    s->hash = 0;
    s->mark = 0;
    s->aux = 0;
    if (!b->ascii()) s->flags &= static_cast<uint8_t>(~kAscii);
    return a;
}

Ptr<Str> str_repeat(Vm& vm, Str* s, int64_t times) {
    if (times <= 0 || s->size == 0) return make_str(vm, "");
    if (times == 1 && s->cls == vm.classes.str) return Ptr<Str>(s);
    size_t bytes = 0;
    if (__builtin_mul_overflow(size_t{s->size}, static_cast<size_t>(times), &bytes) || bytes > kMaxBytes) {
        raise_memory_error(vm);
    }
    Str* out = raw_str(vm, bytes);
    if (s->size == 1) {
        std::memset(out->data, s->data[0], bytes);
    } else {
        std::memcpy(out->data, s->data, s->size);
        for (size_t done = s->size; done < bytes;) {
            size_t more = done < bytes - done ? done : bytes - done;
            std::memcpy(out->data + done, out->data, more);
            done += more;
        }
    }
    out->length = static_cast<uint32_t>(s->length * static_cast<size_t>(times));
    out->flags |= s->flags & kAscii;
    return Ptr<Str>::steal(out);
}

// ---- Code points ----

// Long strings remember where a code point was found last, so that walking one by index is not quadratic.
size_t str_offset(Str* s, int64_t index) {
    if (s->ascii()) return static_cast<size_t>(index);
    auto at = static_cast<size_t>(index);
    if (at >= s->length) return s->size;
    if (s->size < 64) return text::byte_offset(s->view(), at);
    size_t step = mark_step(s);
    size_t from = s->aux * step;
    size_t offset = s->mark;
    if (at < from) {
        if (at < from - at) {
            offset = text::byte_offset(s->view(), at);
        } else {
            for (size_t left = from - at; left > 0; left--) {
                do offset--;
                while (text::is_continuation(s->data[offset]));
            }
        }
    } else {
        offset += text::byte_offset(s->view().substr(offset), at - from);
    }
    if (at % step == 0) {
        s->aux = static_cast<uint16_t>(at / step);
        s->mark = static_cast<uint32_t>(offset);
    }
    return offset;
}

Ptr<Str> str_at(Vm& vm, Str* s, int64_t index) {
    if (s->ascii()) return make_char(vm, static_cast<unsigned char>(s->data[index]));
    const char* p = s->data + str_offset(s, index);
    return make_char(vm, text::decode(p, s->data + s->size));
}

Ptr<Str> str_slice(Vm& vm, Str* s, int64_t start, int64_t stop, int64_t step) {
    if (step == 1) {
        if (stop <= start) return make_str(vm, "");
        if (start == 0 && stop == s->length && s->cls == vm.classes.str) return Ptr<Str>(s);
        size_t begin = str_offset(s, start);
        size_t end = str_offset(s, stop);
        auto length = static_cast<size_t>(stop - start);
        return known_str(vm, {s->data + begin, end - begin}, length, s->ascii() || end - begin == length);
    }
    int64_t count = step > 0 ? (stop > start ? (stop - start - 1) / step + 1 : 0)
                             : (start > stop ? (start - stop - 1) / -step + 1 : 0);
    if (count <= 0) return make_str(vm, "");
    if (s->ascii()) {
        Str* out = raw_str(vm, static_cast<size_t>(count));
        for (int64_t i = 0; i < count; i++) out->data[i] = s->data[start + i * step];
        out->length = static_cast<uint32_t>(count);
        out->flags |= kAscii;
        return Ptr<Str>::steal(out);
    }
    std::vector<char32_t> points;
    points.reserve(s->length);
    const char* end = s->data + s->size;
    for (const char* p = s->data; p < end;) points.push_back(text::decode(p, end));
    text::Buffer out;
    for (int64_t i = 0; i < count; i++) text::append_code_point(out, points[static_cast<size_t>(start + i * step)]);
    return make_str(vm, out.view());
}

int64_t str_hash(Str* s) {
    if (!s->hash) s->hash = text::hash_text(s->view());
    return s->hash;
}

// ---- The row ----

namespace {

void destroy(Vm& vm, Object* object) {
    auto* s = cast<Str>(object);
    if (s->flags & kInterned) vm.interned.erase(s->view());
    size_t size = str_bytes(s->capacity);
    if (has_slots(s)) {
        size += slots_allocated(s);
        destroy_slots(vm, s);
    }
    vm.heap.deallocate(s, size);
}

Ref repr_of(Vm& vm, Object* object) {
    text::Buffer out;
    text::append_str_repr(out, cast<Str>(object)->view());
    return make_str(vm, out.view());
}

Ref str_of(Vm& vm, Object* object) {
    if (object->cls == vm.classes.str) return Ref(object);
    return make_str(vm, cast<Str>(object)->view());
}

int64_t hash_of(Vm&, Object* object) { return str_hash(cast<Str>(object)); }
int64_t length_of(Vm&, Object* object) { return cast<Str>(object)->length; }

Ref compare_with(Vm&, CompareOp op, Object* object, Value other) {
    if (!other.is_kind(Kind::Str)) return {};
    auto* a = cast<Str>(object);
    auto* b = cast<Str>(other);
    if (op == CompareOp::Eq) return Value::boolean(str_equal(a, b));
    if (op == CompareOp::Ne) return Value::boolean(!str_equal(a, b));
    return order_result(op, str_order(a, b));
}

Ref item_of(Vm& vm, Object* object, Value key) {
    auto* s = cast<Str>(object);
    if (key.is_kind(Kind::Slice)) {
        SliceRange part = slice_range(vm, cast<Slice>(key), s->length);
        return str_slice(vm, s, part.start, part.stop, part.step);
    }
    if (!key.is_int() && !is_integer(key) && !is_tensor(key) && find_special(vm, key, Special::Index).is_undef()) {
        raise(vm, Exc::TypeError, "string indices must be integers, not '{}'", class_name(vm, key));
    }
    return str_at(vm, s, check_index(vm, key, s->length, "string index out of range"));
}

bool contains_text(Vm& vm, Object* object, Value item) {
    if (!item.is_kind(Kind::Str)) {
        raise(vm, Exc::TypeError, "'in <string>' requires string as left operand, not {}", class_name(vm, item));
    }
    return text::contains(cast<Str>(object)->view(), cast<Str>(item)->view());
}

Ref iterate_over(Vm& vm, Object* object) { return make_str_iterator(vm, cast<Str>(object)); }

}  // namespace

const KindOps kStrOps = {
    .destroy = destroy,
    .repr = repr_of,
    .str = str_of,
    .hash = hash_of,
    .length = length_of,
    .compare = compare_with,
    .get_item = item_of,
    .contains = contains_text,
    .iterate = iterate_over,
};

}  // namespace talc::vm
