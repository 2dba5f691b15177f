#pragma once
// Memory for one compilation: objects are never destroyed one by one, all goes at once.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace talc::lang {

class Arena {
  public:
    Arena() = default;
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    void* allocate(size_t size, size_t alignment) {
        uintptr_t at = (next_ + alignment - 1) & ~(uintptr_t{alignment} - 1);
        if (at + size > limit_) {
            grow(size + alignment);
            at = (next_ + alignment - 1) & ~(uintptr_t{alignment} - 1);
        }
        next_ = at + size;
        return reinterpret_cast<void*>(at);
    }

    template <class T, class... Args>
    T* make(Args&&... args) {
        static_assert(std::is_trivially_destructible_v<T>);
        return new (allocate(sizeof(T), alignof(T))) T{std::forward<Args>(args)...};
    }

    template <class T>
    T* array(size_t count) {
        static_assert(std::is_trivially_copyable_v<T>);
        return static_cast<T*>(allocate(sizeof(T) * count, alignof(T)));
    }

    std::string_view copy(std::string_view text) {
        char* bytes = array<char>(text.size());
        if (!text.empty()) std::memcpy(bytes, text.data(), text.size());
        return {bytes, text.size()};
    }

  private:
    void grow(size_t at_least) {
        size_t size = chunks_.empty() ? kFirstChunk : kChunk;
        if (size < at_least) size = at_least;
        chunks_.emplace_back(new char[size]);
        next_ = reinterpret_cast<uintptr_t>(chunks_.back().get());
        limit_ = next_ + size;
    }

    static constexpr size_t kFirstChunk = 4096;
    static constexpr size_t kChunk = 65536;
    std::vector<std::unique_ptr<char[]>> chunks_;
    uintptr_t next_ = 0;
    uintptr_t limit_ = 0;
};

// A list whose elements lie in an arena.
template <class T>
struct List {
    T* data = nullptr;
    uint32_t size = 0;

    T* begin() const { return data; }
    T* end() const { return data + size; }
    T& operator[](size_t i) const { return data[i]; }
    T& back() const { return data[size - 1]; }
    bool empty() const { return size == 0; }
};

template <class T>
class ListBuilder {
  public:
    explicit ListBuilder(Arena& arena) : arena_(&arena) {}

    void push(T value) {
        if (size_ == capacity_) {
            uint32_t capacity = capacity_ == 0 ? 4 : capacity_ * 2;
            T* data = arena_->array<T>(capacity);
            if (size_ != 0) std::memcpy(static_cast<void*>(data), data_, size_ * sizeof(T));
            data_ = data;
            capacity_ = capacity;
        }
        new (&data_[size_++]) T(value);
    }
    uint32_t size() const { return size_; }
    T& back() { return data_[size_ - 1]; }
    T& operator[](size_t i) { return data_[i]; }
    List<T> finish() const { return {data_, size_}; }

  private:
    Arena* arena_;
    T* data_ = nullptr;
    uint32_t size_ = 0;
    uint32_t capacity_ = 0;
};

}  // namespace talc::lang
