#include "base/text/buffer.hpp"

#include <algorithm>

namespace talc::text {

void Buffer::grow_to(size_t more) {
    if (more > limit_ || size_ > limit_ - more) throw std::bad_alloc();
    size_t wanted = std::max(size_ + more, std::min(capacity_ * 2, limit_));
    char* grown;
    if (data_ == inline_) {
        grown = static_cast<char*>(std::malloc(wanted));
        if (grown != nullptr) std::memcpy(grown, inline_, size_);
    } else {
        grown = static_cast<char*>(std::realloc(data_, wanted));
    }
    if (grown == nullptr) throw std::bad_alloc();
    data_ = grown;
    capacity_ = wanted;
}

void Buffer::append_repeated(size_t n, std::string_view piece) {
    if (n == 0 || piece.empty()) return;
    if (piece.size() == 1) return append(n, piece[0]);
    if (n > limit_ / piece.size()) throw std::bad_alloc();
    size_t total = n * piece.size();
    char* at = extend(total);
    std::memcpy(at, piece.data(), piece.size());
    // Each round doubles what is there, so that long results are a few large copies.
    for (size_t done = piece.size(); done < total;) {
        size_t chunk = std::min(done, total - done);
        std::memcpy(at + done, at, chunk);
        done += chunk;
    }
}

}  // namespace talc::text
