#pragma once
// The growing output of every function here that makes text: `append_upper(out, s)`. Small results stay in
// inline storage, so that a Buffer on the stack costs no allocation; growing never clears memory; and a size
// limit turns "a" * huge style results into std::bad_alloc before any memory is taken (the VM reports it as
// MemoryError).
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace talc::text {

class Buffer {
  public:
    static constexpr size_t kInline = 232;
    static constexpr size_t kNoLimit = SIZE_MAX / 4;

    Buffer() = default;
    explicit Buffer(size_t limit) : limit_(limit < kNoLimit ? limit : kNoLimit) {}
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() {
        if (data_ != inline_) std::free(data_);
    }

    const char* data() const { return data_; }
    char* data() { return data_; }
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    size_t limit() const { return limit_; }
    std::string_view view() const { return {data_, size_}; }
    operator std::string_view() const { return view(); }
    std::string str() const { return std::string(data_, size_); }
    void clear() { size_ = 0; }
    void truncate(size_t size) { size_ = size; }

    void reserve(size_t more) {
        if (more > capacity_ - size_) grow_to(more);
    }
    // Makes room for n bytes and counts them as written; the caller fills them.
    char* extend(size_t n) {
        reserve(n);
        char* at = data_ + size_;
        size_ += n;
        return at;
    }
    void push_back(char c) {
        if (size_ == capacity_) grow_to(1);
        data_[size_++] = c;
    }
    void append(std::string_view s) {
        if (s.empty()) return;
        std::memcpy(extend(s.size()), s.data(), s.size());
    }
    void append(size_t n, char c) {
        if (n != 0) std::memset(extend(n), c, n);
    }
    // n copies of a piece (a fill character, the spaces of a tab).
    void append_repeated(size_t n, std::string_view piece);
    Buffer& operator+=(std::string_view s) {
        append(s);
        return *this;
    }
    Buffer& operator+=(char c) {
        push_back(c);
        return *this;
    }

  private:
    void grow_to(size_t more);

    char* data_ = inline_;
    size_t size_ = 0;
    size_t capacity_ = kInline;
    size_t limit_ = kNoLimit;
    char inline_[kInline];
};

// make(append_upper, s): the result of an append function as a std::string, for callers that do not care
// about speed.
template <class Function, class... Args>
std::string make(Function&& function, Args&&... args) {
    Buffer out;
    std::forward<Function>(function)(out, std::forward<Args>(args)...);
    return out.str();
}

}  // namespace talc::text
