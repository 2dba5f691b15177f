#pragma once
// An engine's standard streams: where print writes and input reads. A host that gave functions for them gets everything
// at once; otherwise it is the process's own, buffered.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "stdlib/raw_file.hpp"

namespace talc::stdlib {

class Streams {
  public:
    static Streams& of(vm::Vm& vm);     // made on first use
    static std::shared_ptr<Streams> shared(vm::Vm& vm);

    Streams();
    void write_out(vm::Vm& vm, std::string_view text);
    void write_err(vm::Vm& vm, std::string_view text);
    void flush_out(vm::Vm& vm);
    // A line of standard input with its newline; false at the end.
    bool read_line(vm::Vm& vm, std::string& line);
    RawFile& in() { return in_; }
    RawFile& out() { return out_; }

    // Files with data to write, so that an end of the process without an end of the engine loses nothing.
    void add(RawFile* file) { files_.push_back(file); }
    void remove(RawFile* file);
    void flush_all();

  private:
    RawFile in_;
    RawFile out_;
    RawFile err_;
    std::vector<RawFile*> files_;
};

}  // namespace talc::stdlib
