#include "tensor/layout.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tensor/error.hpp"

namespace talc::tensor {

int64_t element_count(std::span<const int64_t> sizes) {
    int64_t count = 1;
    bool overflow = false;
    for (int64_t size : sizes) {
        if (size == 0) return 0;
        overflow = overflow || __builtin_mul_overflow(count, size, &count);
    }
    if (overflow) fail("the number of elements of {} overflows a 64-bit integer", bracketed(sizes));
    return count;
}

Dims contiguous_strides(std::span<const int64_t> sizes) {
    Dims strides(sizes.size());
    int64_t stride = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
        strides[d] = stride;
        if (__builtin_mul_overflow(stride, std::max<int64_t>(sizes[d], 1), &stride)) stride = 0;  // empty tensors only
    }
    return strides;
}

bool is_contiguous(std::span<const int64_t> sizes, std::span<const int64_t> strides) {
    if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return true;
    int64_t expected = 1;
    for (size_t d = sizes.size(); d-- > 0;) {
        if (sizes[d] == 1) continue;
        if (strides[d] != expected) return false;
        expected *= sizes[d];
    }
    return true;
}

bool is_non_overlapping(std::span<const int64_t> sizes, std::span<const int64_t> strides) {
    if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return true;
    InlineVec<size_t, 8> order;
    for (size_t d = 0; d < sizes.size(); ++d) {
        if (sizes[d] > 1) order.push_back(d);
    }
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return strides[a] < strides[b]; });
    int64_t reach = 1;  // elements covered by the dims so far
    for (size_t d : order) {
        if (strides[d] < reach) return false;
        reach = strides[d] * (sizes[d] - 1) + reach;
    }
    return true;
}

namespace {

LayoutClass classify(DType dtype, Device device, std::span<const int64_t> sizes, std::span<const int64_t> strides,
                     bool requires_grad, bool weak) {
    LayoutClass layout;
    layout.dtype = dtype;
    layout.device = device;
    layout.requires_grad = requires_grad;
    layout.weak = weak;
    layout.contiguous = is_contiguous(sizes, strides);
    layout.rank = static_cast<uint8_t>(sizes.size());
    bool empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
    for (size_t d = 0; d < sizes.size(); ++d) {
        layout.size_class.push_back(sizes[d] == 0   ? LayoutClass::kSizeZero
                                    : sizes[d] == 1 ? LayoutClass::kSizeOne
                                                    : LayoutClass::kSizeMany);
        int8_t pattern = LayoutClass::kAnyStride;
        if (empty || sizes[d] <= 1) {
            pattern = LayoutClass::kNoStride;
        } else if (strides[d] == 0) {
            pattern = LayoutClass::kZeroStride;
        } else if (strides[d] == 1) {
            pattern = LayoutClass::kOneStride;
        } else {
            // The dimension that it follows: the nearest to the right first, so that row-major comes out alike for
            // all sizes, then the others. Dimensions of stride 0 and size 1 relate to nothing.
            for (size_t k = 1; k < sizes.size() && pattern == LayoutClass::kAnyStride; ++k) {
                size_t e = (d + k) % sizes.size();
                if (sizes[e] > 1 && strides[e] != 0 && strides[d] == strides[e] * sizes[e]) {
                    pattern = static_cast<int8_t>(e);
                }
            }
        }
        layout.strides.push_back(pattern);
    }
    return layout;
}

struct Hash {
    size_t operator()(const LayoutClass& layout) const {
        uint64_t h = static_cast<uint64_t>(layout.dtype) | static_cast<uint64_t>(layout.device.type) << 8 |
                     static_cast<uint64_t>(layout.device.index) << 16 | uint64_t{layout.requires_grad} << 24 |
                     uint64_t{layout.weak} << 25 | uint64_t{layout.rank} << 32;
        for (size_t d = 0; d < layout.strides.size(); ++d) {
            h = h * 0x9e3779b97f4a7c15u + static_cast<uint8_t>(layout.strides[d]) * 4u + layout.size_class[d];
        }
        return h ^ (h >> 29);
    }
};

// Locked and only ever added to; the nodes of the set never move.
class Table {
  public:
    const LayoutClass* intern(const LayoutClass& layout) {
        std::lock_guard lock(mutex_);
        return &*known_.insert(layout).first;
    }

  private:
    std::mutex mutex_;
    std::unordered_set<LayoutClass, Hash> known_;
};

Table& table() {
    static Table* shared = new Table;  // outlives every tensor
    return *shared;
}

}  // namespace

const LayoutClass* intern_layout(DType dtype, Device device, std::span<const int64_t> sizes,
                                 std::span<const int64_t> strides, bool requires_grad, bool weak) {
    LayoutClass layout = classify(dtype, device, sizes, strides, requires_grad, weak);
    // The last classes seen by this thread, so that the common case takes no lock.
    constexpr size_t kSlots = 64;
    thread_local const LayoutClass* recent[kSlots] = {};
    const LayoutClass*& slot = recent[Hash{}(layout) % kSlots];
    if (!slot || !(*slot == layout)) slot = table().intern(layout);
    return slot;
}

std::string to_string(const LayoutClass& layout) {
    std::string text = fmt::format("{} {} [", name_of(layout.dtype), to_string(layout.device));
    for (size_t d = 0; d < layout.size_class.size(); ++d) {
        if (d) text += ", ";
        text += layout.size_class[d] == LayoutClass::kSizeMany ? '*' : static_cast<char>('0' + layout.size_class[d]);
    }
    text += ']';
    if (layout.contiguous) {
        text += " contiguous";
    } else {
        text += " strides (";
        for (size_t d = 0; d < layout.strides.size(); ++d) {
            if (d) text += ", ";
            switch (layout.strides[d]) {
                case LayoutClass::kAnyStride: text += '?'; break;
                case LayoutClass::kOneStride: text += '1'; break;
                case LayoutClass::kZeroStride: text += '0'; break;
                case LayoutClass::kNoStride: text += '-'; break;
                default: text += fmt::format("after {}", layout.strides[d]);
            }
        }
        text += ')';
    }
    if (layout.requires_grad) text += " requires_grad";
    if (layout.weak) text += " number";
    return text;
}

std::string bracketed(std::span<const int64_t> sizes) { return fmt::format("[{}]", fmt::join(sizes, ", ")); }

std::string parenthesized(std::span<const int64_t> sizes) {
    return fmt::format("({}{})", fmt::join(sizes, ", "), sizes.size() == 1 ? "," : "");
}

}  // namespace talc::tensor
