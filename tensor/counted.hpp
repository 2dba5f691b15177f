#pragma once
// Intrusive reference counts for tensors, storages and graph nodes. Counts are atomic: a handle may be released
// by the thread that compiled a fragment.
#include <atomic>
#include <cstdint>
#include <utility>

namespace talc::tensor {

class Counted {
  public:
    Counted() = default;
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    virtual ~Counted() = default;

    void retain() const { refs_.fetch_add(1, std::memory_order_relaxed); }
    void release() const {
        if (refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
    }
    uint32_t ref_count() const { return refs_.load(std::memory_order_relaxed); }

  private:
    mutable std::atomic<uint32_t> refs_{0};
};

template <class T>
class Ref {
  public:
    Ref() = default;
    Ref(std::nullptr_t) {}
    explicit Ref(T* pointer) : pointer_(pointer) {
        if (pointer_) pointer_->retain();
    }
    Ref(const Ref& other) : Ref(other.pointer_) {}
    Ref(Ref&& other) noexcept : pointer_(std::exchange(other.pointer_, nullptr)) {}
    template <class U>
        requires std::is_convertible_v<U*, T*>
    Ref(const Ref<U>& other) : Ref(static_cast<T*>(other.get())) {}
    Ref& operator=(const Ref& other) {
        Ref(other).swap(*this);
        return *this;
    }
    Ref& operator=(Ref&& other) noexcept {
        Ref(std::move(other)).swap(*this);
        return *this;
    }
    ~Ref() {
        if (pointer_) pointer_->release();
    }

    T* get() const { return pointer_; }
    T* operator->() const { return pointer_; }
    T& operator*() const { return *pointer_; }
    explicit operator bool() const { return pointer_ != nullptr; }
    void swap(Ref& other) noexcept { std::swap(pointer_, other.pointer_); }
    friend bool operator==(const Ref& a, const Ref& b) { return a.pointer_ == b.pointer_; }

  private:
    T* pointer_ = nullptr;
};

template <class T, class... Args>
Ref<T> make_counted(Args&&... args) {
    return Ref<T>(new T(std::forward<Args>(args)...));
}

}  // namespace talc::tensor
