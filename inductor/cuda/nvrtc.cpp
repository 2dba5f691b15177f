#include "inductor/cuda/nvrtc.hpp"

#include <iterator>

#include "inductor/cuda/library.hpp"
#include "tensor/error.hpp"

namespace talc::inductor::cuda {

namespace {

using Program = struct ProgramOfNvrtc*;
using Status = int;  // 0: well

}  // namespace

struct Functions {
    Status (*create)(Program*, const char* source, const char* name, int headers, const char* const*, const char* const*);
    Status (*compile)(Program, int options, const char* const*);
    Status (*log_size)(Program, size_t*);
    Status (*log)(Program, char*);
    Status (*cubin_size)(Program, size_t*);
    Status (*cubin)(Program, char*);
    Status (*destroy)(Program*);
    const char* (*message)(Status);
    Status (*version)(int*, int*);
};

const Nvrtc* Nvrtc::find(std::string* looked_for) {
    struct Search {
        Nvrtc nvrtc;
        Library library{"nvrtc", {"13", "12"}};
        bool whole = false;
    };
    static const Search* search = [] {
        auto* s = new Search;  // lives as long as the process, as the library does
        if (!s->library.loaded()) return s;
        auto* f = new Functions;
        const Library& library = s->library;
        s->whole = library.find(f->create, "nvrtcCreateProgram") && library.find(f->compile, "nvrtcCompileProgram") &&
                   library.find(f->log_size, "nvrtcGetProgramLogSize") && library.find(f->log, "nvrtcGetProgramLog") &&
                   library.find(f->cubin_size, "nvrtcGetCUBINSize") && library.find(f->cubin, "nvrtcGetCUBIN") &&
                   library.find(f->destroy, "nvrtcDestroyProgram") && library.find(f->message, "nvrtcGetErrorString") &&
                   library.find(f->version, "nvrtcVersion");
        if (!s->whole) return s;
        int major = 0, minor = 0;
        f->version(&major, &minor);
        s->nvrtc.version_ = std::to_string(major) + "." + std::to_string(minor);
        s->nvrtc.path_ = library.path();
        s->nvrtc.functions_ = f;
        return s;
    }();
    if (looked_for) *looked_for = search->library.places();
    return search->whole ? &search->nvrtc : nullptr;
}

std::string Nvrtc::compile(const std::string& source, const std::string& architecture, bool only_to_see) const {
    const Functions& nvrtc = *functions_;
    auto check = [&](Status status, const char* doing) {
        if (status != 0) tensor::fail("NVRTC, {}: {}", doing, nvrtc.message(status));
    };
    struct Owned {
        const Functions& nvrtc;
        Program program = nullptr;
        ~Owned() {
            if (program) nvrtc.destroy(&program);
        }
    } owned{nvrtc};
    Program& program = owned.program;
    std::string target = "--gpu-architecture=" + architecture;
    // Products and sums stay apart, as everywhere else. Textures and the like are left out, which saves a few
    // milliseconds; older compilers do not know that option, nor the one behind it.
    const char* options[] = {target.c_str(), "--std=c++17", "--fmad=false", "--device-as-default-execution-space", "--minimal",
                             "--Ofast-compile=max"};
    constexpr int kOldOptions = 4, kAllOptions = static_cast<int>(std::size(options));
    constexpr Status kInvalidOption = 5;
    check(nvrtc.create(&program, source.c_str(), "fragment.cu", 0, nullptr, nullptr), "taking a program");
    Status status = nvrtc.compile(program, only_to_see ? kAllOptions : kAllOptions - 1, options);
    if (status == kInvalidOption) {
        nvrtc.destroy(&program);
        program = nullptr;
        check(nvrtc.create(&program, source.c_str(), "fragment.cu", 0, nullptr, nullptr), "taking a program");
        status = nvrtc.compile(program, kOldOptions, options);
    }
    if (status != 0) {
        size_t size = 0;
        nvrtc.log_size(program, &size);
        std::string log(size, '\0');
        if (size) nvrtc.log(program, log.data());
        tensor::fail("NVRTC, compiling for {}: {}\n{}", architecture, nvrtc.message(status), log);
    }
    size_t size = 0;
    check(nvrtc.cubin_size(program, &size), "handing out code");
    std::string cubin(size, '\0');
    check(nvrtc.cubin(program, cubin.data()), "handing out code");
    return cubin;
}

}  // namespace talc::inductor::cuda
