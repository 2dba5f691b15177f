#include "vm/namespace.hpp"

#include <cstring>

#include "vm/vm.hpp"

namespace talc::vm {

namespace {

uint32_t slot_of(const Str* name, uint32_t mask) {
    return static_cast<uint32_t>((reinterpret_cast<uintptr_t>(name) >> 4) * 0x9E3779B1u) & mask;
}

void rebuild(Vm& vm, Namespace& names, uint32_t capacity) {
    auto* rows = static_cast<Namespace::Row*>(vm.heap.allocate(capacity * sizeof(Namespace::Row)));
    uint32_t buckets = capacity * 2;
    auto* table = static_cast<int32_t*>(vm.heap.allocate(buckets * sizeof(int32_t)));
    for (uint32_t i = 0; i < buckets; i++) table[i] = -1;
    for (uint32_t i = 0; i < names.size; i++) {
        rows[i] = names.rows[i];
        uint32_t at = slot_of(rows[i].name, buckets - 1);
        while (table[at] >= 0) at = (at + 1) & (buckets - 1);
        table[at] = static_cast<int32_t>(i);
    }
    if (names.rows) {
        vm.heap.deallocate(names.rows, names.capacity * sizeof(Namespace::Row));
        vm.heap.deallocate(names.table, (names.mask + 1) * sizeof(int32_t));
    }
    names.rows = rows;
    names.table = table;
    names.capacity = capacity;
    names.mask = buckets - 1;
}

}  // namespace

Cell* namespace_find(const Namespace& names, const Str* name) {
    if (!names.size) return nullptr;
    for (uint32_t at = slot_of(name, names.mask); names.table[at] >= 0; at = (at + 1) & names.mask) {
        const Namespace::Row& row = names.rows[names.table[at]];
        if (row.name == name) return row.cell;
    }
    return nullptr;
}

Cell* namespace_add(Vm& vm, Namespace& names, Str* name) {
    if (Cell* found = namespace_find(names, name)) return found;
    if (names.size == names.capacity) rebuild(vm, names, names.capacity ? names.capacity * 2 : 8);
    Ptr<Cell> cell = make_cell(vm, Value());
    cell->name = name;
    name->refs += 2;  // the row's and the cell's
    uint32_t at = slot_of(name, names.mask);
    while (names.table[at] >= 0) at = (at + 1) & names.mask;
    names.table[at] = static_cast<int32_t>(names.size);
    names.rows[names.size] = {name, cell.get()};
    names.size++;
    return cell.release();
}

void namespace_traverse(const Namespace& names, Visitor& visitor) {
    for (uint32_t i = 0; i < names.size; i++) visitor.visit(static_cast<Object*>(names.rows[i].cell));
}

void namespace_clear(Namespace& names) {
    for (uint32_t i = 0; i < names.size; i++) {
        Value old = names.rows[i].cell->value;
        names.rows[i].cell->value = Value();
        decref(old);
    }
}

void namespace_destroy(Vm& vm, Namespace& names) {
    for (uint32_t i = 0; i < names.size; i++) {
        decref(static_cast<Object*>(names.rows[i].name));
        decref(static_cast<Object*>(names.rows[i].cell));
    }
    if (names.rows) {
        vm.heap.deallocate(names.rows, names.capacity * sizeof(Namespace::Row));
        vm.heap.deallocate(names.table, (names.mask + 1) * sizeof(int32_t));
    }
    names = Namespace();
}

}  // namespace talc::vm
