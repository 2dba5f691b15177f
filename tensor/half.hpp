#pragma once
// The two 16-bit float formats, as storage types: arithmetic is done in float and rounded once, to nearest even.
#include <bit>
#include <cstdint>

namespace talc::tensor {

struct Half {
    uint16_t bits = 0;

    Half() = default;
    explicit Half(float value) : bits(round_from(value)) {}
    operator float() const {
        uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
        uint32_t rest = bits & 0x7fffu;
        if (rest >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((rest & 0x3ffu) << 13));
        if (rest >= 0x400u) return std::bit_cast<float>(sign | ((rest << 13) + (112u << 23)));
        // Subnormal: an integer multiple of 2^-24.
        float magnitude = static_cast<float>(rest) * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }

  private:
    static uint16_t round_from(float value) {
        uint32_t word = std::bit_cast<uint32_t>(value);
        uint16_t sign = static_cast<uint16_t>((word >> 16) & 0x8000u);
        uint32_t rest = word & 0x7fffffffu;
        if (rest > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
        if (rest >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds to 65536 or more
        if (rest < 0x38800000u) {                                               // below 2^-14: subnormal
            float magnitude = std::bit_cast<float>(rest) * 0x1p24f;  // exact; rounding to an integer is nearest even
            float rounded = (magnitude + 0x1p23f) - 0x1p23f;
            return static_cast<uint16_t>(sign | static_cast<uint16_t>(rounded));
        }
        uint32_t odd = (rest >> 13) & 1u;
        return static_cast<uint16_t>(sign | ((rest - (112u << 23) + 0xfffu + odd) >> 13));
    }
};

struct BFloat16 {
    uint16_t bits = 0;

    BFloat16() = default;
    explicit BFloat16(float value) {
        uint32_t word = std::bit_cast<uint32_t>(value);
        if ((word & 0x7fffffffu) > 0x7f800000u) {
            bits = 0x7fc0;
        } else {
            bits = static_cast<uint16_t>((word + 0x7fffu + ((word >> 16) & 1u)) >> 16);
        }
    }
    operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

}  // namespace talc::tensor
