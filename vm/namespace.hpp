#pragma once
// Tables of names to cells: module globals and class attributes. A name keeps its cell for good; deleting it
// unbinds the cell, so that whoever holds the cell (an instruction, a guard) stays right.
#include "vm/heap.hpp"
#include "vm/object.hpp"

namespace talc::vm {

Cell* namespace_find(const Namespace& names, const Str* name);    // borrowed; null: none. name is interned
Cell* namespace_add(Vm& vm, Namespace& names, Str* name);         // found or made (unbound)
void namespace_traverse(const Namespace& names, Visitor& visitor);
void namespace_clear(Namespace& names);                           // unbinds all
void namespace_destroy(Vm& vm, Namespace& names);

}  // namespace talc::vm
