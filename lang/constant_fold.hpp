#pragma once
// Replaces operations on constants by their results, where the result is what running them would give.
#include "lang/ast.hpp"

namespace talc::lang {

// The truth of a constant.
bool is_true(const ConstantValue& value);

void fold_constants(Module& module, Arena& arena);

}  // namespace talc::lang
