#pragma once
// Errors of the tensor rooms. Each knows which exception of the language it becomes; the message names the
// shapes, dtypes and devices involved.
#include <cstdint>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

namespace talc::tensor {

enum class ErrorKind : uint8_t { Runtime, Value, Index, Type, Memory, NotImplemented };

class Error : public std::runtime_error {
  public:
    Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
    ErrorKind kind() const { return kind_; }

  private:
    ErrorKind kind_;
};

template <class... Args>
[[noreturn]] void fail(ErrorKind kind, fmt::format_string<Args...> text, Args&&... args) {
    throw Error(kind, fmt::format(text, std::forward<Args>(args)...));
}

// The common case: what PyTorch raises as RuntimeError.
template <class... Args>
[[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) {
    throw Error(ErrorKind::Runtime, fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace talc::tensor
