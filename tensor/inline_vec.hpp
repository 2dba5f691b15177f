#pragma once
// A vector with room for N elements inside itself: sizes, strides and dims of nearly every tensor fit, so that
// making a tensor's metadata allocates nothing.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <type_traits>

namespace talc::tensor {

template <class T, size_t N>
class InlineVec {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    InlineVec() = default;
    explicit InlineVec(size_t count, T value = T{}) { resize(count, value); }
    InlineVec(std::initializer_list<T> items) { assign(items.begin(), items.end()); }
    explicit InlineVec(std::span<const T> items) { assign(items.begin(), items.end()); }
    template <class It>
    InlineVec(It first, It last) {
        assign(first, last);
    }
    InlineVec(const InlineVec& other) { assign(other.begin(), other.end()); }
    InlineVec(InlineVec&& other) noexcept { take(other); }
    InlineVec& operator=(const InlineVec& other) {
        if (this != &other) assign(other.begin(), other.end());
        return *this;
    }
    InlineVec& operator=(InlineVec&& other) noexcept {
        if (this != &other) {
            release();
            take(other);
        }
        return *this;
    }
    ~InlineVec() { release(); }

    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T* data() { return data_; }
    const T* data() const { return data_; }
    T* begin() { return data_; }
    T* end() { return data_ + size_; }
    const T* begin() const { return data_; }
    const T* end() const { return data_ + size_; }
    T& operator[](size_t i) { return data_[i]; }
    const T& operator[](size_t i) const { return data_[i]; }
    T& back() { return data_[size_ - 1]; }
    const T& back() const { return data_[size_ - 1]; }
    T& front() { return data_[0]; }
    const T& front() const { return data_[0]; }

    void clear() { size_ = 0; }
    void reserve(size_t count) {
        if (count <= capacity_) return;
        size_t grown = std::max<size_t>(count, size_t{capacity_} * 2);
        T* fresh = new T[grown];
        std::copy(begin(), end(), fresh);
        release();
        data_ = fresh;
        capacity_ = static_cast<uint32_t>(grown);
    }
    void resize(size_t count, T value = T{}) {
        reserve(count);
        for (size_t i = size_; i < count; ++i) data_[i] = value;
        size_ = static_cast<uint32_t>(count);
    }
    void push_back(T value) {
        reserve(size_ + 1);
        data_[size_++] = value;
    }
    void pop_back() { --size_; }
    void insert(size_t at, T value) {
        push_back(value);
        std::rotate(begin() + at, end() - 1, end());
    }
    void erase(size_t at) {
        std::copy(begin() + at + 1, end(), begin() + at);
        --size_;
    }
    template <class It>
    void assign(It first, It last) {
        clear();
        for (; first != last; ++first) push_back(*first);
    }
    operator std::span<const T>() const { return {data_, size_}; }

    friend bool operator==(const InlineVec& a, const InlineVec& b) {
        return a.size_ == b.size_ && std::equal(a.begin(), a.end(), b.begin());
    }

  private:
    void release() {
        if (data_ != inline_) delete[] data_;
        data_ = inline_;
        capacity_ = N;
    }
    void take(InlineVec& other) {
        size_ = other.size_;
        if (other.data_ != other.inline_) {
            data_ = other.data_;
            capacity_ = other.capacity_;
            other.data_ = other.inline_;
            other.capacity_ = N;
        } else {
            std::copy(other.begin(), other.end(), inline_);
        }
        other.size_ = 0;
    }

    T* data_ = inline_;
    uint32_t size_ = 0;
    uint32_t capacity_ = N;
    T inline_[N];
};

// Sizes, strides and coordinates; and lists of dimension numbers.
template <class D>
using ShapeOf = InlineVec<D, 6>;
using Dims = ShapeOf<int64_t>;

}  // namespace talc::tensor
