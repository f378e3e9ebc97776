// Conversion of numbers in memory to and from single precision; to nearest, ties to even.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "driver/number_formats.h"

namespace blas {

inline uint32_t bitsOf(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

inline uint16_t toBf16(float x) {
    uint32_t bits = bitsOf(x);
    if (std::isnan(x)) {
        return 0x7fff;
    }
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

inline uint16_t toHalf(float x) {
    uint32_t sign = bitsOf(x) >> 16 & 0x8000;
    float magnitude = std::fabs(x);
    if (std::isnan(x)) {
        return 0x7fff;
    }
    if (magnitude >= 65520.0f) {  // halfway to the first number that is too large
        return static_cast<uint16_t>(sign | 0x7c00);
    }
    if (magnitude < 0x1p-14f) {   // subnormal: a multiple of 2^-24
        return static_cast<uint16_t>(sign | static_cast<uint32_t>(std::nearbyint(magnitude * 0x1p24f)));
    }
    uint32_t bits = bitsOf(magnitude) - ((127u - 15u) << 23);
    return static_cast<uint16_t>(sign | (bits + 0xfff + (bits >> 13 & 1)) >> 13);
}

// To 10 bits of fraction; ties away from zero, as cvt.rna.tf32 does.
inline float roundedToTf32(float x) {
    if (!std::isfinite(x)) {
        return x;
    }
    return sim::asFloat((bitsOf(x) + 0x1000) & 0xffffe000u);
}

}  // namespace blas
