#pragma once
// Machine code for programs: from files, or compiled by NVRTC, several programs at the same time.
#include <span>
#include <string>
#include <vector>

#include "base/disk_cache.hpp"

namespace talc::inductor::cuda {

// Shares pieces of work with these weights among at most `most` workers: for each worker the numbers of its pieces.
// Nobody is without work, and the heaviest pieces are with different workers.
std::vector<std::vector<size_t>> shares_of(std::span<const size_t> weights, size_t most);
// How many programs are worth compiling at the same time here.
size_t compilers_at_once();

class Cubins {
  public:
    explicit Cubins(std::string architecture, DiskCache disk = {})
        : architecture_(std::move(architecture)), disk_(std::move(disk)) {}

    struct Cubin {
        std::string code;
        bool from_file = false;
    };
    // One for each program, in order. Fails with a tensor::Error that carries the compiler's messages, or with what was
    // looked for where there is no compiler. What was compiled for an architecture serves whoever has it: where all is
    // kept the compiler need not be there.
    std::vector<Cubin> of(std::span<const std::string> programs) const;
    // The file was damaged: code made anew.
    std::string again(const std::string& program) const;

  private:
    std::string content_of(const std::string& program) const { return architecture_ + "\n" + program; }
    std::string compile(const std::string& program) const;

    std::string architecture_;
    DiskCache disk_;
};

}  // namespace talc::inductor::cuda
