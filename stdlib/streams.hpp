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

    // sys.stdin, stdout and stderr (0, 1, 2): the variable, and what it holds at first.
    void watch(vm::Vm& vm, int which, vm::Cell* variable, vm::Value original);
    // What a script has put into the variable instead; Undef: nothing.
    vm::Value replacement(int which) const;

    // Files with data to write, so that an end of the process without an end of the engine loses nothing.
    void add(RawFile* file) { files_.push_back(file); }
    void remove(RawFile* file);
    void flush_all();

  private:
    RawFile in_;
    RawFile out_;
    RawFile err_;
    std::vector<RawFile*> files_;
    struct Watched {
        vm::Ref variable;
        vm::Ref original;
    };
    // Owned by the engine, not by this: the files that it holds keep this object alive.
    struct WatchedVariables;
    WatchedVariables* watched_ = nullptr;
};

}  // namespace talc::stdlib
