#pragma once
// Values and index expressions as C++ text.
#include <string>

#include "inductor/loops/kernel.hpp"

namespace talc::inductor::cuda {

// In which a dtype is computed: "float", "int", "i64", ...
std::string carrier_of(loops::DType dtype);
// In which it lies in memory.
std::string memory_type_of(loops::DType dtype);
std::string from_memory(const std::string& text, loops::DType dtype);
std::string to_memory(const std::string& text, loops::DType dtype);
// The carrier's value as the dtype holds it.
std::string rounded(const std::string& text, loops::DType dtype);
std::string converted(const std::string& text, loops::DType from, loops::DType to);

// "512ll * i0 + i1"; data are named v0, v1, ...
std::string index_text(loops::Dim expr);
std::string number_text(loops::Scalar value, loops::DType dtype);
// An Apply; operands are named v0, v1, ...
std::string apply_text(const loops::Kernel& kernel, const loops::Value& value);

}  // namespace talc::inductor::cuda
