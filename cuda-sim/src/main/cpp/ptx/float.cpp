// Arithmetic of floating-point numbers. Without a rounding in its name an operation rounds to nearest, ties to even.
#include <bit>
#include <cmath>
#include <limits>

#include "warp.h"

namespace ptx {
namespace {

template <class T> T sum(T a, T b) { return a + b; }
template <class T> T difference(T a, T b) { return a - b; }
template <class T> T product(T a, T b) { return a * b; }
template <class T> T quotient(T a, T b) { return a / b; }
template <class T> T reciprocal(T a) { return 1 / a; }
template <class T> T root(T a) { return std::sqrt(a); }
template <class T> T negative(T a) { return -a; }
template <class T> T absolute(T a) { return std::fabs(a); }
template <class T> T fused(T a, T b, T c) { return std::fma(a, b, c); }

// Of a number and a NaN the result is the number; +0 is larger than -0.
template <class T> T most(T a, T b) { return a > b || b != b || (a == b && !std::signbit(a)) ? a : b; }
template <class T> T least(T a, T b) { return a < b || b != b || (a == b && std::signbit(a)) ? a : b; }

// a b + c rounded towards minus infinity. The product is exact in double precision; the sum's error decides.
float fusedDown(float a, float b, float c) {
    double p = static_cast<double>(a) * b;
    double s = p + c;
    double back = s - p;
    double error = (p - (s - back)) + (c - back);
    float rounded = static_cast<float>(s);
    bool above = rounded > s || (rounded == s && error < 0);
    return above ? std::nextafter(rounded, -std::numeric_limits<float>::infinity()) : rounded;
}

// Subnormal numbers become zeros of their sign.
float flushed(float a) {
    return std::fabs(a) < std::numeric_limits<float>::min() ? std::copysign(0.0f, a) : a;
}

double flushed(double a) {
    return std::fabs(a) < std::numeric_limits<double>::min() ? std::copysign(0.0, a) : a;
}

// The approximate functions: the ISA bounds their error (2 ulp for ex2, 1 ulp for rcp) and does not define their bits.
// These are the exact values, rounded to nearest.
float exp2Flushed(float a) { return flushed(static_cast<float>(std::exp2(static_cast<double>(flushed(a))))); }
float exp2(float a) { return static_cast<float>(std::exp2(static_cast<double>(a))); }
float log2Flushed(float a) { return flushed(static_cast<float>(std::log2(static_cast<double>(flushed(a))))); }
float log2(float a) { return static_cast<float>(std::log2(static_cast<double>(a))); }
float reciprocalFlushed(float a) { return flushed(1 / flushed(a)); }
float inverseRoot(float a) { return static_cast<float>(1 / std::sqrt(static_cast<double>(a))); }
float tangent(float a) { return static_cast<float>(std::tanh(static_cast<double>(a))); }

// Of the upper half of a double; the ISA gives the result's upper 20 bits of fraction, and zeros below.
double reciprocalRough(double a) {
    constexpr uint64_t UPPER = 0xffffffff00000000ull;
    double upper = flushed(std::bit_cast<double>(std::bit_cast<uint64_t>(a) & UPPER));
    return flushed(std::bit_cast<double>(std::bit_cast<uint64_t>(1 / upper) & UPPER));
}

#define FLOATS(opcode, f) \
    {opcode "f32", {binary<float, float, float, f<float>>, "fff", Class::FLOAT}}, \
    {opcode "f64", {binary<double, double, double, f<double>>, "ddd", Class::DOUBLE}}
#define FLOAT_OF_ONE(opcode, f, counted32) \
    {opcode "f32", {unary<float, float, f<float>>, "ff", counted32}}, \
    {opcode "f64", {unary<double, double, f<double>>, "dd", Class::DOUBLE}}
#define FUNCTION(opcode, f) {opcode, {unary<float, float, f>, "ff", Class::FUNCTION}}

}  // namespace

Meanings floatMeanings() {
    return {
        FLOATS("add.", sum), FLOATS("add.rn.", sum), FLOATS("sub.", difference), FLOATS("sub.rn.", difference),
        FLOATS("mul.", product), FLOATS("mul.rn.", product), FLOATS("div.rn.", quotient),
        FLOATS("max.", most), FLOATS("min.", least),
        FLOAT_OF_ONE("neg.", negative, Class::FLOAT), FLOAT_OF_ONE("abs.", absolute, Class::FLOAT),
        FLOAT_OF_ONE("sqrt.rn.", root, Class::FUNCTION), FLOAT_OF_ONE("rcp.rn.", reciprocal, Class::FUNCTION),
        {"fma.rn.f32", {ternary<float, float, float, float, fused<float>>, "ffff", Class::FLOAT}},
        {"fma.rn.f64", {ternary<double, double, double, double, fused<double>>, "dddd", Class::DOUBLE}},
        {"fma.rm.f32", {ternary<float, float, float, float, fusedDown>, "ffff", Class::FLOAT}},
        FUNCTION("ex2.approx.ftz.f32", exp2Flushed), FUNCTION("ex2.approx.f32", exp2),
        FUNCTION("lg2.approx.ftz.f32", log2Flushed), FUNCTION("lg2.approx.f32", log2),
        FUNCTION("rcp.approx.ftz.f32", reciprocalFlushed), FUNCTION("rsqrt.approx.f32", inverseRoot),
        FUNCTION("tanh.approx.f32", tangent),
        {"rcp.approx.ftz.f64", {unary<double, double, reciprocalRough>, "dd", Class::DOUBLE}},
    };
}

}  // namespace ptx
