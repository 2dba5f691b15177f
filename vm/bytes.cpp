// Bytes: immutable sequences of small ints.
#include <cstring>

#include "base/text/hash.hpp"
#include "base/text/repr.hpp"
#include "base/text/search.hpp"
#include "vm/containers.hpp"
#include "vm/shape.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

namespace {

Bytes* raw_bytes(Vm& vm, Class* cls, size_t size) {
    if (size > PTRDIFF_MAX / 2) raise_memory_error(vm);
    auto* bytes = static_cast<Bytes*>(vm.heap.allocate(bytes_bytes(size) + slots_bytes(cls)));
    bytes->refs = 1;
    bytes->kind = Kind::Bytes;
    bytes->flags = 0;
    bytes->aux = 0;
    bytes->cls = cls;
    cls->refs++;
    bytes->hash = 0;
    bytes->size = size;
    bytes->data[size] = 0;
    return bytes;
}

}  // namespace

Ptr<Bytes> make_bytes(Vm& vm, std::string_view data) { return make_bytes_of(vm, vm.classes.bytes, data); }

Ptr<Bytes> make_bytes_of(Vm& vm, Class* cls, std::string_view data) {
    Bytes* bytes = raw_bytes(vm, cls, data.size());
    if (!data.empty()) std::memcpy(bytes->data, data.data(), data.size());
    init_slots(bytes);
    return Ptr<Bytes>::steal(bytes);
}

Ptr<Bytes> bytes_concat(Vm& vm, const Bytes* a, const Bytes* b) {
    Bytes* out = raw_bytes(vm, vm.classes.bytes, a->size + b->size);
    std::memcpy(out->data, a->data, a->size);
    std::memcpy(out->data + a->size, b->data, b->size);
    return Ptr<Bytes>::steal(out);
}

Ptr<Bytes> bytes_repeat(Vm& vm, Bytes* b, int64_t times) {
    if (times <= 0 || b->size == 0) return make_bytes(vm, {});
    size_t size = 0;
    if (__builtin_mul_overflow(b->size, static_cast<size_t>(times), &size)) raise_memory_error(vm);
    Bytes* out = raw_bytes(vm, vm.classes.bytes, size);
    for (size_t at = 0; at < size; at += b->size) std::memcpy(out->data + at, b->data, b->size);
    return Ptr<Bytes>::steal(out);
}

namespace {

void destroy(Vm& vm, Object* object) {
    auto* bytes = cast<Bytes>(object);
    size_t size = bytes_bytes(bytes->size);
    if (has_slots(bytes)) {
        size += slots_allocated(bytes);
        destroy_slots(vm, bytes);
    }
    vm.heap.deallocate(bytes, size);
}

Ref repr_of(Vm& vm, Object* object) {
    text::Buffer out;
    text::append_bytes_repr(out, cast<Bytes>(object)->view());
    return make_str(vm, out.view());
}

int64_t hash_of(Vm&, Object* object) {
    auto* bytes = cast<Bytes>(object);
    if (!bytes->hash) bytes->hash = text::hash_text(bytes->view());
    return bytes->hash;
}

int64_t length_of(Vm&, Object* object) { return static_cast<int64_t>(cast<Bytes>(object)->size); }

Ref compare_with(Vm&, CompareOp op, Object* object, Value other) {
    if (!other.is_kind(Kind::Bytes)) return {};
    // char_traits<char> compares as unsigned bytes, like memcmp.
    return order_result(op, cast<Bytes>(object)->view().compare(cast<Bytes>(other)->view()));
}

Ref item_of(Vm& vm, Object* object, Value key) {
    auto* bytes = cast<Bytes>(object);
    if (key.is_kind(Kind::Slice)) {
        SliceRange part = slice_range(vm, cast<Slice>(key), static_cast<int64_t>(bytes->size));
        if (part.length == static_cast<int64_t>(bytes->size) && part.step == 1 && bytes->cls == vm.classes.bytes) {
            return Ref(object);
        }
        Bytes* out = raw_bytes(vm, vm.classes.bytes, static_cast<size_t>(part.length));
        for (int64_t i = 0; i < part.length; i++) out->data[i] = bytes->data[part.start + i * part.step];
        return Ptr<Bytes>::steal(out);
    }
    int64_t at = item_index(vm, key, static_cast<int64_t>(bytes->size), "byte", "index out of range");
    return Value::integer(static_cast<unsigned char>(bytes->data[at]));
}

bool contains_item(Vm& vm, Object* object, Value item) {
    std::string_view view = cast<Bytes>(object)->view();
    if (item.is_kind(Kind::Bytes)) return text::contains(view, cast<Bytes>(item)->view());
    if (!is_integer(item) && find_special(vm, item, Special::Index).is_undef()) {
        raise(vm, Exc::TypeError, "a bytes-like object is required, not '{}'", class_name(vm, item));
    }
    int64_t byte = to_index(vm, item);
    if (byte < 0 || byte > 255) raise(vm, Exc::ValueError, "byte must be in range(0, 256)");
    return view.find(static_cast<char>(byte)) != view.npos;
}

Ref iterate_over(Vm& vm, Object* object) { return make_bytes_iterator(vm, cast<Bytes>(object)); }

}  // namespace

const KindOps kBytesOps = {
    .destroy = destroy,
    .repr = repr_of,
    .hash = hash_of,
    .length = length_of,
    .compare = compare_with,
    .get_item = item_of,
    .contains = contains_item,
    .iterate = iterate_over,
};

}  // namespace talc::vm
