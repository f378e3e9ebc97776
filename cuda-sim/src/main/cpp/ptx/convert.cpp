// Conversions between types.
#include <bit>
#include <cmath>

#include "warp.h"

namespace ptx {
namespace {

using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;
using s16 = int16_t;
using s32 = int32_t;
using s64 = int64_t;

template <class D, class A> D cast(A a) { return static_cast<D>(a); }
s64 lowerExtended(u64 a) { return static_cast<s32>(a); }

constexpr u32 SIGN = 0x80000000u;
constexpr u32 INFINITE = 0x7f800000u;

// To nearest, ties to even. A NaN becomes the canonical one.
u16 toBf16(float a) {
    u32 bits = std::bit_cast<u32>(a);
    if ((bits & ~SIGN) > INFINITE) {
        return 0x7fff;
    }
    return static_cast<u16>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// To nearest, ties to even: 10 bits of fraction, and fewer below 2^-14. A NaN becomes the canonical one.
u16 toHalf(float a) {
    u32 bits = std::bit_cast<u32>(a);
    u32 sign = bits >> 16 & 0x8000;
    u32 size = bits & ~SIGN;
    if (size > INFINITE) {
        return 0x7fff;
    }
    if (size >= 0x477ff000u) {  // 65520 and above
        return static_cast<u16>(sign | 0x7c00);
    }
    if (size < 0x38800000u) {   // below 2^-14: a multiple of 2^-24
        float steps = std::bit_cast<float>(size) * 0x1p24f;
        return static_cast<u16>(sign | static_cast<u32>(std::nearbyint(steps)));
    }
    u32 rebased = size - (112u << 23);
    return static_cast<u16>(sign | ((rebased + 0xfff + (rebased >> 13 & 1)) >> 13));
}

float ofHalf(u16 a) {
    u32 sign = (a & 0x8000u) << 16;
    u32 exponent = a >> 10 & 0x1f;
    u32 fraction = a & 0x3ff;
    if (exponent == 0) {
        return std::copysign(static_cast<float>(fraction) * 0x1p-24f, std::bit_cast<float>(sign | 0x3f800000u));
    }
    u32 rebased = exponent == 0x1f ? 0xff : exponent + 112;
    return std::bit_cast<float>(sign | rebased << 23 | fraction << 13);
}

// 10 bits of fraction, to nearest, ties away from zero.
u32 toTf32(float a) {
    u32 bits = std::bit_cast<u32>(a);
    return (bits & ~SIGN) >= INFINITE ? ((bits & ~SIGN) > INFINITE ? 0x7fffffffu : bits)
        : (bits + 0x1000) & 0xffffe000u;
}

u32 toHalves(float high, float low) { return static_cast<u32>(toHalf(high)) << 16 | toHalf(low); }
u32 toBf16s(float high, float low) { return static_cast<u32>(toBf16(high)) << 16 | toBf16(low); }

float saturated(float a) { return a > 0 ? (a < 1 ? a : 1) : 0; }  // a NaN becomes 0

template <class T> T truncated(T a) { return std::trunc(a); }
template <class T> T floored(T a) { return std::floor(a); }
template <class T> T nearest(T a) { return std::nearbyint(a); }

// To an integer, truncated or to nearest; beyond its range the nearest one, and 0 of a NaN.
template <class D, class A> D clamped(A a) {
    constexpr D LEAST = std::numeric_limits<D>::min();
    constexpr D MOST = std::numeric_limits<D>::max();
    constexpr A LIMIT = static_cast<A>(MOST / 2 + 1) * 2;
    return a != a ? D(0) : a >= LIMIT ? MOST : a <= static_cast<A>(LEAST) ? LEAST : static_cast<D>(a);
}
template <class D, class A> D toInteger(A a) { return clamped<D, A>(std::trunc(a)); }
template <class D, class A> D toNearest(A a) { return clamped<D, A>(std::nearbyint(a)); }
template <class D, class A> D toFloor(A a) { return clamped<D, A>(std::floor(a)); }

#define CAST(opcode, D, A, letters) {"cvt." opcode, {unary<D, A, cast<D, A>>, letters, Class::CONVERT}}
#define CONVERT(opcode, D, A, f, letters) {"cvt." opcode, {unary<D, A, f>, letters, Class::CONVERT}}
#define TWO(opcode, f) {"cvt." opcode, {binary<u32, float, float, f>, "wff", Class::CONVERT}}

}  // namespace

Meanings convertMeanings() {
    return {
        CAST("u32.u64", u32, u64, "wl"), CAST("s32.s64", s32, s64, "wl"), CAST("u64.u32", u64, u32, "lw"),
        CAST("s64.s32", s64, s32, "lw"), CAST("u32.u16", u32, u16, "wh"), CAST("s32.s16", s32, s16, "wh"),
        CAST("u16.u32", u16, u32, "hw"), CAST("u64.u16", u64, u16, "lh"), CAST("u16.u64", u16, u64, "hl"),
        CAST("s64.s16", s64, s16, "lh"), CAST("u32.s64", u32, s64, "wl"),
        CONVERT("s64.s32 cut", s64, u64, lowerExtended, "ll"),
        CAST("rn.f32.s32", float, s32, "fw"), CAST("rn.f32.u32", float, u32, "fw"),
        CAST("rn.f32.s64", float, s64, "fl"), CAST("rn.f32.u64", float, u64, "fl"),
        CAST("rn.f64.s32", double, s32, "dw"), CAST("rn.f64.u32", double, u32, "dw"),
        CAST("rn.f64.s64", double, s64, "dl"), CAST("rn.f64.u64", double, u64, "dl"),
        CAST("f64.f32", double, float, "df"), CAST("rn.f32.f64", float, double, "fd"),
        CONVERT("rzi.f64.f64", double, double, truncated<double>, "dd"),
        CONVERT("rzi.f32.f32", float, float, truncated<float>, "ff"),
        CONVERT("rmi.f32.f32", float, float, floored<float>, "ff"),
        CONVERT("rni.f32.f32", float, float, nearest<float>, "ff"),
        CONVERT("sat.f32.f32", float, float, saturated, "ff"),
        CONVERT("rzi.s32.f32", s32, float, (toInteger<s32, float>), "wf"),
        CONVERT("rni.s32.f32", s32, float, (toNearest<s32, float>), "wf"),
        CONVERT("rmi.s32.f32", s32, float, (toFloor<s32, float>), "wf"),
        CONVERT("rzi.s32.f64", s32, double, (toInteger<s32, double>), "wd"),
        CONVERT("rzi.u32.f32", u32, float, (toInteger<u32, float>), "wf"),
        CONVERT("f32.f16", float, u16, ofHalf, "fh"), CONVERT("rn.f16.f32", u16, float, toHalf, "hf"),
        CONVERT("rn.bf16.f32", u16, float, toBf16, "hf"), CONVERT("rna.tf32.f32", u32, float, toTf32, "wf"),
        TWO("rn.f16x2.f32", toHalves), TWO("rn.bf16x2.f32", toBf16s),
    };
}

}  // namespace ptx
