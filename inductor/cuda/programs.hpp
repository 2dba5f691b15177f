#pragma once
// The kernels of one GPU, each compiled once: equal loops are equal code. Those that a fragment needs anew are compiled together.
#include <mutex>
#include <unordered_map>

#include "inductor/cuda/gpu.hpp"

namespace talc::inductor::cuda {

class Programs {
  public:
    explicit Programs(Gpu& gpu) : gpu_(gpu) {}

    struct Wanted {
        const loops::Kernel* kernel;
        std::vector<bool> by_value;
    };
    // Code for each, in order. Fails with a tensor::Error when the compiler does.
    std::vector<const KernelCode*> load(std::span<const Wanted> wanted);

    // All that there are.
    std::vector<const KernelCode*> all();

  private:
    Gpu& gpu_;
    std::mutex mutex_;
    std::unordered_map<std::string, std::unique_ptr<KernelCode>> known_;  // by the loops' text
};

}  // namespace talc::inductor::cuda
