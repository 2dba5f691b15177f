#pragma once
// Shared libraries of CUDA, loaded when they are first wanted: the same binary runs where they are not installed.
#include <initializer_list>
#include <string>
#include <type_traits>

#include <dlfcn.h>

namespace talc::inductor::cuda {

class Library {
  public:
    // Looks for libSTEM.so.VERSION as the loader does, then in the folders of CUDA under /usr/local.
    Library(const char* stem, std::initializer_list<const char*> versions);

    bool loaded() const { return handle_ != nullptr; }
    const std::string& path() const { return path_; }
    const std::string& places() const { return places_; }  // all that were tried
    // False when the library has no such function.
    template <class F>
    bool find(F& function, const char* name) const {
        function = reinterpret_cast<F>(dlsym(handle_, name));
        return function != nullptr;
    }

  private:
    void* handle_ = nullptr;  // never closed: the library lives as long as the process
    std::string path_, places_;
};

}  // namespace talc::inductor::cuda
