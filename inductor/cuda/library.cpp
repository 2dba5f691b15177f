#include "inductor/cuda/library.hpp"

#include <algorithm>
#include <filesystem>
#include <vector>

namespace talc::inductor::cuda {

Library::Library(const char* stem, std::initializer_list<const char*> versions) {
    std::string plain = std::string("lib") + stem + ".so";
    std::vector<std::string> paths;
    for (const char* version : versions) paths.push_back(plain + "." + version);
    paths.push_back(plain);
    std::error_code ignored;
    std::vector<std::string> folders;
    for (const auto& entry : std::filesystem::directory_iterator("/usr/local", ignored)) {
        if (entry.path().filename().string().rfind("cuda", 0) == 0) folders.push_back(entry.path());
    }
    std::sort(folders.rbegin(), folders.rend());  // the newest first
    for (const std::string& folder : folders) {
        for (const char* inside : {"/lib64/", "/lib/"}) paths.push_back(folder + inside + plain);
    }
    for (const std::string& path : paths) {
        places_ += (places_.empty() ? "" : ", ") + path;
        handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (!handle_) continue;
        path_ = path;
        return;
    }
}

}  // namespace talc::inductor::cuda
