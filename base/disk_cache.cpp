#include "base/disk_cache.hpp"

#include <unistd.h>
#include <xxhash.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

namespace talc {

namespace fs = std::filesystem;

DiskCache::DiskCache() {
    if (const char* given = std::getenv("TALC_CACHE"); given && *given) {
        if (std::string_view(given) != "off") folder_ = given;
    } else if (const char* home = std::getenv("HOME"); home && *home) {
        folder_ = std::string(home) + "/.cache/talc";
    }
}

std::string DiskCache::path_of(std::string_view content, std::string_view kind) const {
    XXH128_hash_t hash = XXH3_128bits(content.data(), content.size());
    return fmt::format("{}/{:016x}{:016x}.{}", folder_, hash.high64, hash.low64, kind);
}

std::optional<std::string> DiskCache::read(std::string_view content, std::string_view kind) const {
    if (!active()) return std::nullopt;
    std::ifstream file(path_of(content, kind), std::ios::binary);
    if (!file) return std::nullopt;
    std::ostringstream bytes;
    bytes << file.rdbuf();
    std::string value = std::move(bytes).str();
    if (!file || value.empty()) return std::nullopt;
    return value;
}

void DiskCache::write(std::string_view content, std::string_view kind, std::string_view value) const {
    if (!active()) return;
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) return;
    std::string path = path_of(content, kind);
    // A name of our own, then in one step the real one: nobody sees half a file.
    std::string temporary = fmt::format("{}.{}.{}", path, getpid(), static_cast<const void*>(&value));
    {
        std::ofstream file(temporary, std::ios::binary);
        file.write(value.data(), static_cast<std::streamsize>(value.size()));
        file.flush();
        if (!file) error = std::make_error_code(std::errc::io_error);
    }
    if (!error) fs::rename(temporary, path, error);
    if (error) fs::remove(temporary, error);
}

void DiskCache::forget(std::string_view content, std::string_view kind) const {
    if (!active()) return;
    std::error_code ignored;
    fs::remove(path_of(content, kind), ignored);
}

}  // namespace talc
