#pragma once
// What annotations are made of besides classes: int | None and list[int].
#include <vector>

#include "vm/vm.hpp"

namespace talc::stdlib {

// The members of a union like int | str; null: v is none.
const std::vector<vm::Ref>* union_members(vm::Vm& vm, vm::Value v);
bool is_generic_alias(vm::Vm& vm, vm::Value v);

}  // namespace talc::stdlib
