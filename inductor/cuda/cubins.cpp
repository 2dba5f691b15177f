#include "inductor/cuda/cubins.hpp"

#include <algorithm>
#include <future>
#include <numeric>
#include <thread>

#include "inductor/cuda/nvrtc.hpp"
#include "tensor/error.hpp"

namespace talc::inductor::cuda {

std::vector<std::vector<size_t>> shares_of(std::span<const size_t> weights, size_t most) {
    std::vector<std::vector<size_t>> shares(std::min(weights.size(), std::max<size_t>(most, 1)));
    std::vector<size_t> loads(shares.size(), 0), order(weights.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return weights[a] > weights[b]; });
    for (size_t piece : order) {
        auto least = std::min_element(loads.begin(), loads.end());
        *least += std::max<size_t>(weights[piece], 1);
        shares[static_cast<size_t>(least - loads.begin())].push_back(piece);
    }
    for (std::vector<size_t>& share : shares) std::sort(share.begin(), share.end());
    return shares;
}

size_t compilers_at_once() {
    constexpr size_t kMost = 8;  // a part of every compilation waits for the others
    return std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMost);
}

std::string Cubins::compile(const std::string& program) const {
    std::string looked_for;
    const Nvrtc* nvrtc = Nvrtc::find(&looked_for);
    if (!nvrtc) tensor::fail("kernels for the GPU need NVRTC, which was not found: looked for {}", looked_for);
    std::string code = nvrtc->compile(program, architecture_);
    disk_.write(content_of(program), "cubin", code);
    return code;
}

std::string Cubins::again(const std::string& program) const {
    disk_.forget(content_of(program), "cubin");
    return compile(program);
}

std::vector<Cubins::Cubin> Cubins::of(std::span<const std::string> programs) const {
    std::vector<Cubin> cubins(programs.size());
    std::vector<size_t> missing;
    for (size_t i = 0; i < programs.size(); ++i) {
        if (std::optional<std::string> known = disk_.read(content_of(programs[i]), "cubin")) {
            cubins[i] = {std::move(*known), true};
        } else {
            missing.push_back(i);
        }
    }
    // The calling thread compiles along.
    std::vector<std::future<std::string>> others;
    for (size_t i = 1; i < missing.size(); ++i) {
        others.push_back(std::async(std::launch::async, [&, i] { return compile(programs[missing[i]]); }));
    }
    if (!missing.empty()) cubins[missing[0]].code = compile(programs[missing[0]]);
    for (size_t i = 1; i < missing.size(); ++i) cubins[missing[i]].code = others[i - 1].get();
    return cubins;
}

}  // namespace talc::inductor::cuda
