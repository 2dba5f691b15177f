#pragma once
// NVRTC, the run-time compiler of CUDA, loaded when it is first wanted: the same binary runs where it is not installed.
#include <string>
#include <vector>

namespace talc::inductor::cuda {

class Nvrtc {
  public:
    // Null when there is none; `looked_for` then says where it was sought.
    static const Nvrtc* find(std::string* looked_for = nullptr);

    // A cubin for an architecture ("sm_90"). Fails with a tensor::Error that carries the compiler's messages.
    std::vector<char> compile(const std::string& program, const std::string& architecture) const;
    const std::string& path() const { return path_; }

  private:
    Nvrtc() = default;
    bool load(const std::string& path);

    std::string path_;
    struct Functions* functions_ = nullptr;
};

}  // namespace talc::inductor::cuda
