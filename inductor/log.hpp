#pragma once
// What a compilation has to say, kept until somebody asks: one line an event, on a named channel (passes, fusion,
// memory). Executable::log hands it out.
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "inductor/backend.hpp"

namespace talc::inductor {

class Log {
  public:
    template <class... Args>
    void add(std::string_view channel, fmt::format_string<Args...> text, Args&&... args) {
        lines_.push_back({channel, fmt::format(text, std::forward<Args>(args)...)});
    }
    const std::vector<LogLine>& lines() const { return lines_; }

  private:
    std::vector<LogLine> lines_;
};

}  // namespace talc::inductor
