#include "inductor/cuda/nvrtc.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <type_traits>

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
};

bool Nvrtc::load(const std::string& path) {
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library) return false;
    auto functions = std::make_unique<Functions>();
    bool whole = true;
    auto find = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
        whole = whole && function;
    };
    find(functions->create, "nvrtcCreateProgram");
    find(functions->compile, "nvrtcCompileProgram");
    find(functions->log_size, "nvrtcGetProgramLogSize");
    find(functions->log, "nvrtcGetProgramLog");
    find(functions->cubin_size, "nvrtcGetCUBINSize");
    find(functions->cubin, "nvrtcGetCUBIN");
    find(functions->destroy, "nvrtcDestroyProgram");
    find(functions->message, "nvrtcGetErrorString");
    if (!whole) {
        dlclose(library);
        return false;
    }
    functions_ = functions.release();  // lives as long as the process, as the library does
    path_ = path;
    return true;
}

const Nvrtc* Nvrtc::find(std::string* looked_for) {
    struct Search {
        Nvrtc found;
        bool there = false;
        std::string places;
    };
    static const Search* search = [] {
        auto* s = new Search;
        std::vector<std::string> paths = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
        std::error_code ignored;
        std::vector<std::string> folders;
        for (const auto& entry : std::filesystem::directory_iterator("/usr/local", ignored)) {
            if (entry.path().filename().string().rfind("cuda", 0) == 0) folders.push_back(entry.path());
        }
        std::sort(folders.rbegin(), folders.rend());  // the newest first
        for (const std::string& folder : folders) {
            for (const char* inside : {"/lib64/libnvrtc.so", "/lib/libnvrtc.so"}) paths.push_back(folder + inside);
        }
        for (const std::string& path : paths) {
            s->places += (s->places.empty() ? "" : ", ") + path;
            if (s->found.load(path)) {
                s->there = true;
                break;
            }
        }
        return s;
    }();
    if (looked_for) *looked_for = search->places;
    return search->there ? &search->found : nullptr;
}

std::vector<char> Nvrtc::compile(const std::string& source, const std::string& architecture) const {
    const Functions& nvrtc = *functions_;
    auto check = [&](Status status, const char* doing) {
        if (status != 0) tensor::fail("NVRTC, {}: {}", doing, nvrtc.message(status));
    };
    Program program = nullptr;
    check(nvrtc.create(&program, source.c_str(), "fragment.cu", 0, nullptr, nullptr), "taking a program");
    struct Destroy {
        const Functions& nvrtc;
        Program program;
        ~Destroy() { nvrtc.destroy(&program); }
    } destroy{nvrtc, program};
    std::string target = "--gpu-architecture=" + architecture;
    // Products and sums stay apart, as everywhere else.
    const char* options[] = {target.c_str(), "--std=c++17", "--fmad=false", "--device-as-default-execution-space"};
    Status status = nvrtc.compile(program, static_cast<int>(std::size(options)), options);
    if (status != 0) {
        size_t size = 0;
        nvrtc.log_size(program, &size);
        std::string log(size, '\0');
        if (size) nvrtc.log(program, log.data());
        tensor::fail("NVRTC, compiling for {}: {}\n{}", architecture, nvrtc.message(status), log);
    }
    size_t size = 0;
    check(nvrtc.cubin_size(program, &size), "handing out code");
    std::vector<char> cubin(size);
    check(nvrtc.cubin(program, cubin.data()), "handing out code");
    return cubin;
}

}  // namespace talc::inductor::cuda
