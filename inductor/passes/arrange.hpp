#pragma once
// The loops of a kernel in the order of memory, and as few as possible: neighbours that always walk as one become one.
// Then the kernel's text is canonical: unused values are gone, sizes and buffers are numbered by first use.
#include <functional>

#include "inductor/loops/kernel.hpp"

namespace talc::inductor {

// `hint`: a likely value of an expression over sizes and strides, to compare by.
// `buffers` holds an entry for each of the kernel's buffers and is reordered with them.
void arrange(loops::Kernel& kernel, std::vector<uint32_t>& buffers, const std::function<int64_t(loops::Dim)>& hint);

}  // namespace talc::inductor
