#include "inductor/cuda/driver.hpp"

#include <fmt/format.h>

#include "inductor/cuda/gpu.hpp"
#include "inductor/cuda/library.hpp"

namespace talc::inductor::cuda {

const Driver* Driver::find(std::string* why) {
    struct Search {
        Driver driver;
        std::string failure;
    };
    static const Search* search = [] {
        auto* s = new Search;  // lives as long as the process, as the library does
        Library library("cuda", {"1"});
        if (!library.loaded()) {
            s->failure = "no driver of NVIDIA was found: looked for " + library.places();
            return s;
        }
        Driver& driver = s->driver;
#define TALC_DRIVER(name, symbol, params)                                                        \
    if (!library.find(driver.name, #symbol)) {                                                   \
        s->failure = fmt::format("the driver {} is too old: it has no " #symbol, library.path()); \
        return s;                                                                                \
    }
#include "inductor/cuda/driver.def"
#undef TALC_DRIVER
        Status status = driver.init(0);
        if (status == 0) status = driver.device_count(&driver.count_);
        if (status != 0 || driver.count_ == 0) {
            const char* name = nullptr;
            if (status != 0) driver.error_name(status, &name);
            s->failure = fmt::format("the driver {} sees no GPU{}{}", library.path(), name ? ": " : "", name ? name : "");
        }
        return s;
    }();
    if (why) *why = search->failure;
    return search->failure.empty() ? &search->driver : nullptr;
}

void Driver::refuse(Status status, const char* doing) const {
    const char *name = nullptr, *text = nullptr;
    error_name(status, &name);
    error_text(status, &text);
    throw GpuError(status == kOutOfMemory ? tensor::ErrorKind::Memory : tensor::ErrorKind::Runtime,
                   fmt::format("CUDA, {}: {} ({})", doing, name ? name : "an unknown error",
                               text ? text : std::to_string(status).c_str()));
}

}  // namespace talc::inductor::cuda
