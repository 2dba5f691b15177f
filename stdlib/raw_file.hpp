#pragma once
// A file of the operating system with a buffer for reading and one for writing. Errors are OSErrors of the script; a
// signal during a read or write is a chance for KeyboardInterrupt.
#include <string>
#include <string_view>

#include "vm/vm.hpp"

namespace talc::stdlib {

class RawFile {
  public:
    explicit RawFile(int fd, bool owned) : fd_(fd), owned_(owned) {}
    ~RawFile();
    RawFile(const RawFile&) = delete;
    RawFile& operator=(const RawFile&) = delete;

    int fd() const { return fd_; }
    bool is_open() const { return fd_ >= 0; }
    bool is_terminal() const;

    // ---- Reading ----
    std::string_view buffered() const { return std::string_view(in_).substr(at_); }
    bool fill(vm::Vm& vm);              // reads some more into the buffer; false at the end of the file
    void consume(size_t bytes) { at_ += bytes; }

    // ---- Writing ----
    void write(vm::Vm& vm, std::string_view data);
    void flush(vm::Vm& vm);
    bool flush_quietly();               // where no script could be told; false: data was lost
    enum class Flush { Full, Lines, Always };
    void set_flush(Flush when) { when_ = when; }

    // ---- Position ----
    int64_t tell(vm::Vm& vm);
    int64_t seek(vm::Vm& vm, int64_t offset, int whence);
    void truncate(vm::Vm& vm, int64_t size);
    bool seekable() const;
    void close(vm::Vm& vm);

  private:
    static constexpr size_t kChunk = 8192;
    void drop_read_ahead(vm::Vm& vm);   // the system's position becomes the script's
    int write_out();                    // 0, or the errno; EINTR too

    int fd_;
    bool owned_;
    Flush when_ = Flush::Full;
    std::string in_;
    size_t at_ = 0;                     // read up to here
    std::string out_;
};

}  // namespace talc::stdlib
