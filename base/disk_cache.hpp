#pragma once
// What was expensive to make and can be made again, kept in files named by the content that it was made from. Under
// $TALC_CACHE or ~/.cache/talc; TALC_CACHE=off keeps nothing. Several processes may use it at once: files appear whole.
#include <optional>
#include <string>
#include <string_view>

namespace talc {

class DiskCache {
  public:
    // The folder of the environment, or none.
    DiskCache();
    explicit DiskCache(std::string folder) : folder_(std::move(folder)) {}

    bool active() const { return !folder_.empty(); }
    // `content` is all that the value depends on; `kind` is the name's ending ("cubin").
    std::optional<std::string> read(std::string_view content, std::string_view kind) const;
    // Failure to write is not an error: the value is made again.
    void write(std::string_view content, std::string_view kind, std::string_view value) const;
    void forget(std::string_view content, std::string_view kind) const;

  private:
    std::string path_of(std::string_view content, std::string_view kind) const;

    std::string folder_;
};

}  // namespace talc
