#pragma once
// Library modules written in Talc: the .tc files of this room, which the build puts into the binary.
#include <span>
#include <string_view>

namespace talc::stdlib {

struct EmbeddedModule {
    std::string_view name;  // as import names it: "nn", "optim.lr_scheduler"
    bool is_package;        // from an __init__.tc
    std::string_view text;
};

std::span<const EmbeddedModule> embedded_modules();

}  // namespace talc::stdlib
