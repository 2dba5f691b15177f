#pragma once
// SHA-512 (FIPS 180-4): random seeds its generator with it where the seed is text.
#include <array>
#include <cstdint>
#include <string_view>

namespace talc::stdlib {

std::array<uint8_t, 64> sha512(std::string_view message);

}  // namespace talc::stdlib
