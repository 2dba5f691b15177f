#pragma once
// Text of a script's values while it is being put together.
#include "base/text/buffer.hpp"
#include "vm/vm.hpp"

namespace talc::vm {

void append_repr(Vm& vm, text::Buffer& out, Value v);

// Marks a container as being printed, so that one that contains itself prints "...".
class ReprScope {
  public:
    ReprScope(Vm& vm, Object* object) : guard_(vm), object_(object), nested_(object->flags & kReprActive) {
        object_->flags |= kReprActive;
    }
    ~ReprScope() {
        if (!nested_) object_->flags &= static_cast<uint8_t>(~kReprActive);
    }
    ReprScope(const ReprScope&) = delete;
    bool nested() const { return nested_; }

  private:
    RecursionGuard guard_;
    Object* object_;
    bool nested_;
};

}  // namespace talc::vm
