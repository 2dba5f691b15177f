#pragma once
// NVRTC, the run-time compiler of CUDA, loaded when it is first wanted: the same binary runs where it is not installed.
#include <string>

namespace talc::inductor::cuda {

class Nvrtc {
  public:
    // Null when there is none; `looked_for` then says where it was sought.
    static const Nvrtc* find(std::string* looked_for = nullptr);

    // A cubin for an architecture ("sm_90"). Fails with a tensor::Error that carries the compiler's messages.
    // `only_to_see`: the code is not meant to be run, and need not be good.
    std::string compile(const std::string& program, const std::string& architecture, bool only_to_see = false) const;
    const std::string& path() const { return path_; }
    const std::string& version() const { return version_; }  // "13.0"

  private:
    Nvrtc() = default;

    std::string path_, version_;
    struct Functions* functions_ = nullptr;
};

}  // namespace talc::inductor::cuda
