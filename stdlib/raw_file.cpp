#include "stdlib/raw_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "stdlib/os_error.hpp"
#include "vm/containers.hpp"

namespace talc::stdlib {

RawFile::~RawFile() {
    flush_quietly();
    if (owned_ && fd_ >= 0) ::close(fd_);
}

bool RawFile::is_terminal() const { return ::isatty(fd_) == 1; }

bool RawFile::fill(vm::Vm& vm) {
    if (!out_.empty()) flush(vm);
    vm.tick(1);  // an endless source can be interrupted
    if (at_ > 0) {
        in_.erase(0, at_);
        at_ = 0;
    }
    size_t size = in_.size();
    size_t room = size > kChunk ? size : kChunk;  // long lines and whole files: few calls
    if (size + room > vm.heap.limit() - std::min(vm.heap.used(), vm.heap.limit())) vm::raise_memory_error(vm);
    in_.resize(size + room);
    for (;;) {
        ssize_t count = ::read(fd_, in_.data() + size, room);
        if (count >= 0) {
            in_.resize(size + static_cast<size_t>(count));
            return count > 0;
        }
        int error = errno;
        if (error != EINTR) in_.resize(size);
        if (error != EINTR) raise_os_error(vm, error);
        try {
            vm.poll();
        } catch (vm::Raised&) {
            in_.resize(size);
            throw;
        }
    }
}

int RawFile::write_out() {
    size_t done = 0;
    int error = 0;
    while (done < out_.size()) {
        ssize_t count = ::write(fd_, out_.data() + done, out_.size() - done);
        if (count < 0) {
            error = errno;
            break;
        }
        done += static_cast<size_t>(count);
    }
    out_.erase(0, done);
    return error;
}

void RawFile::write(vm::Vm& vm, std::string_view data) {
    if (!in_.empty()) drop_read_ahead(vm);
    out_.append(data);
    bool due = out_.size() >= kChunk || when_ == Flush::Always ||
               (when_ == Flush::Lines && data.find('\n') != std::string_view::npos);
    if (due) flush(vm);
}

void RawFile::flush(vm::Vm& vm) {
    while (int error = write_out()) {
        if (error != EINTR) {
            out_.clear();  // what cannot be written is not tried for ever
            raise_os_error(vm, error);
        }
        vm.poll();
    }
}

bool RawFile::flush_quietly() {
    if (fd_ < 0) return true;
    int error;
    do {
        error = write_out();
    } while (error == EINTR);
    out_.clear();
    return error == 0;
}

void RawFile::drop_read_ahead(vm::Vm& vm) {
    auto ahead = static_cast<off_t>(in_.size() - at_);
    in_.clear();
    at_ = 0;
    if (ahead > 0 && ::lseek(fd_, -ahead, SEEK_CUR) < 0) raise_os_error(vm, errno);
}

bool RawFile::seekable() const { return ::lseek(fd_, 0, SEEK_CUR) >= 0; }

int64_t RawFile::tell(vm::Vm& vm) {
    flush(vm);
    off_t at = ::lseek(fd_, 0, SEEK_CUR);
    if (at < 0) raise_os_error(vm, errno);
    return at - static_cast<int64_t>(in_.size() - at_);
}

int64_t RawFile::seek(vm::Vm& vm, int64_t offset, int whence) {
    flush(vm);
    drop_read_ahead(vm);
    off_t at = ::lseek(fd_, offset, whence);
    if (at < 0) raise_os_error(vm, errno);
    return at;
}

void RawFile::truncate(vm::Vm& vm, int64_t size) {
    flush(vm);
    if (::ftruncate(fd_, size) < 0) raise_os_error(vm, errno);
}

void RawFile::close(vm::Vm& vm) {
    if (fd_ < 0) return;
    try {
        flush(vm);
    } catch (vm::Raised&) {
        if (owned_) ::close(fd_);
        fd_ = -1;
        throw;
    }
    if (owned_) ::close(fd_);
    fd_ = -1;
}

}  // namespace talc::stdlib
