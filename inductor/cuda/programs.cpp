#include "inductor/cuda/programs.hpp"

namespace talc::inductor::cuda {

std::vector<const KernelCode*> Programs::load(std::span<const Wanted> wanted) {
    std::lock_guard lock(mutex_);
    std::vector<std::string> keys;
    std::unordered_map<std::string, std::unique_ptr<KernelCode>> fresh;
    std::vector<KernelCode*> to_load;
    for (const Wanted& one : wanted) {
        std::string key = loops::print(*one.kernel);
        for (bool value : one.by_value) key += value ? 'v' : 'b';
        if (known_.count(key) == 0) {
            std::unique_ptr<KernelCode>& code = fresh[key];
            if (!code) {
                code = std::make_unique<KernelCode>();
                code->kernel = *one.kernel;
                code->by_value = one.by_value;
                to_load.push_back(code.get());
            }
        }
        keys.push_back(std::move(key));
    }
    if (!to_load.empty()) gpu_.load(to_load);
    known_.merge(fresh);
    std::vector<const KernelCode*> codes;
    for (const std::string& key : keys) codes.push_back(known_.at(key).get());
    return codes;
}

std::vector<const KernelCode*> Programs::all() {
    std::lock_guard lock(mutex_);
    std::vector<const KernelCode*> codes;
    for (const auto& [key, code] : known_) codes.push_back(code.get());
    return codes;
}

}  // namespace talc::inductor::cuda
