// The narrow number formats of the device, in exact arithmetic.
#pragma once

#include <cstdint>
#include <cstring>

namespace sim {

inline float asFloat(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

inline float fromBf16(uint16_t bits) {
    return asFloat(static_cast<uint32_t>(bits) << 16);
}

// Tensor cores use only the first 10 bits of the fraction.
inline float fromTf32(uint32_t bits) {
    return asFloat(bits & 0xffffe000u);
}

inline float fromHalf(uint16_t bits) {
    constexpr float SUBNORMAL = 0x1p-24f;
    uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
    uint32_t exponent = bits >> 10 & 0x1f;
    uint32_t fraction = bits & 0x3ff;
    if (exponent == 0) {
        float magnitude = static_cast<float>(fraction) * SUBNORMAL;
        return sign != 0 ? -magnitude : magnitude;
    }
    uint32_t wide = exponent == 0x1f ? 0xff : exponent + 127 - 15;
    return asFloat(sign | wide << 23 | fraction << 13);
}

}  // namespace sim
