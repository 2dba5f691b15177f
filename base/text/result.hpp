#pragma once
// What a text function gives when a script can make it fail: a value, or the exception to raise.
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace talc::text {

// The exception class that CPython raises in the same place.
enum class ErrorKind : unsigned char { ValueError, TypeError, OverflowError, IndexError, KeyError };

struct Failure {
    ErrorKind kind = ErrorKind::ValueError;
    std::string message;
};

// Success is a null pointer, so that the common path costs one register.
class [[nodiscard]] Status {
  public:
    Status() = default;
    Status(Failure failure) : failure_(std::make_unique<Failure>(std::move(failure))) {}
    bool ok() const { return failure_ == nullptr; }
    explicit operator bool() const { return ok(); }
    const Failure& failure() const { return *failure_; }  // only when !ok()

  private:
    std::unique_ptr<Failure> failure_;
};

template <class T>
class [[nodiscard]] Result {
  public:
    Result(T value) : value_(std::move(value)) {}
    Result(Failure failure) : status_(std::move(failure)) {}
    bool ok() const { return status_.ok(); }
    explicit operator bool() const { return ok(); }
    T& operator*() { return value_; }
    const T& operator*() const { return value_; }
    T* operator->() { return &value_; }
    const T* operator->() const { return &value_; }
    const Failure& failure() const { return status_.failure(); }

  private:
    T value_{};
    Status status_;
};

inline Failure value_error(std::string message) { return {ErrorKind::ValueError, std::move(message)}; }
inline Failure type_error(std::string message) { return {ErrorKind::TypeError, std::move(message)}; }
inline Failure overflow_error(std::string message) { return {ErrorKind::OverflowError, std::move(message)}; }

}  // namespace talc::text
