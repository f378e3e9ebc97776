// The mathematics that NVRTC predefines: the C library's functions, and the device's own as exact as they may be.
#pragma once

#define SIM_FUNCTION1(name) \
    inline float name##f(float x) { return __builtin_##name##f(x); } \
    inline double name(double x) { return __builtin_##name(x); } \
    inline float name(float x) { return __builtin_##name##f(x); }
#define SIM_FUNCTION2(name) \
    inline float name##f(float x, float y) { return __builtin_##name##f(x, y); } \
    inline double name(double x, double y) { return __builtin_##name(x, y); } \
    inline float name(float x, float y) { return __builtin_##name##f(x, y); }

namespace sim_math {
SIM_FUNCTION1(exp) SIM_FUNCTION1(exp2) SIM_FUNCTION1(expm1) SIM_FUNCTION1(log) SIM_FUNCTION1(log2) SIM_FUNCTION1(log10)
SIM_FUNCTION1(log1p) SIM_FUNCTION1(sqrt) SIM_FUNCTION1(cbrt) SIM_FUNCTION1(sin) SIM_FUNCTION1(cos) SIM_FUNCTION1(tan)
SIM_FUNCTION1(tanh) SIM_FUNCTION1(sinh) SIM_FUNCTION1(cosh) SIM_FUNCTION1(erf) SIM_FUNCTION1(erfc) SIM_FUNCTION1(floor)
SIM_FUNCTION1(ceil) SIM_FUNCTION1(trunc) SIM_FUNCTION1(round) SIM_FUNCTION1(rint) SIM_FUNCTION1(fabs)
SIM_FUNCTION2(pow) SIM_FUNCTION2(fmod) SIM_FUNCTION2(fmax) SIM_FUNCTION2(fmin) SIM_FUNCTION2(copysign)
SIM_FUNCTION2(atan2) SIM_FUNCTION2(hypot)
inline float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }
inline float fma(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
inline float rsqrtf(float x) { return static_cast<float>(1 / __builtin_sqrt(static_cast<double>(x))); }
inline double rsqrt(double x) { return 1 / __builtin_sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float ldexpf(float x, int e) { return __builtin_ldexpf(x, e); }
inline double ldexp(double x, int e) { return __builtin_ldexp(x, e); }
inline int abs(int x) { return x < 0 ? -x : x; }
inline float abs(float x) { return __builtin_fabsf(x); }
inline double abs(double x) { return __builtin_fabs(x); }
template <typename X> inline bool isnan(X x) { return __builtin_isnan(x); }
template <typename X> inline bool isinf(X x) { return __builtin_isinf(x); }
template <typename X> inline bool isfinite(X x) { return __builtin_isfinite(x); }
}  // namespace sim_math
using namespace sim_math;
#undef SIM_FUNCTION1
#undef SIM_FUNCTION2

// ---- the smaller and the larger of two, with the types that CUDA has them for ----

#define SIM_ORDER(T) \
    constexpr T min(T x, T y) { return y < x ? y : x; } \
    constexpr T max(T x, T y) { return x < y ? y : x; }
SIM_ORDER(int) SIM_ORDER(unsigned) SIM_ORDER(long) SIM_ORDER(unsigned long) SIM_ORDER(long long)
SIM_ORDER(unsigned long long)
#undef SIM_ORDER
constexpr unsigned min(int x, unsigned y) { return min(static_cast<unsigned>(x), y); }
constexpr unsigned min(unsigned x, int y) { return min(x, static_cast<unsigned>(y)); }
constexpr unsigned max(int x, unsigned y) { return max(static_cast<unsigned>(x), y); }
constexpr unsigned max(unsigned x, int y) { return max(x, static_cast<unsigned>(y)); }
inline float min(float x, float y) { return __builtin_fminf(x, y); }
inline float max(float x, float y) { return __builtin_fmaxf(x, y); }
inline double min(double x, double y) { return __builtin_fmin(x, y); }
inline double max(double x, double y) { return __builtin_fmax(x, y); }
inline double min(float x, double y) { return __builtin_fmin(x, y); }
inline double max(float x, double y) { return __builtin_fmax(x, y); }
inline double min(double x, float y) { return __builtin_fmin(x, y); }
inline double max(double x, float y) { return __builtin_fmax(x, y); }

// ---- the device's fast functions ----

inline float __expf(float x) { return expf(x); }
inline float __exp10f(float x) { return powf(10.0f, x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __frcp_rn(float x) { return 1 / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frsqrt_rn(float x) { return rsqrtf(x); }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dmul_rn(double x, double y) { return x * y; }
inline float __saturatef(float x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }

// ---- bits ----

template <typename To, typename From> inline To sim_bits(From x) {
    static_assert(sizeof(To) == sizeof(From), "of one size");
    To y;
    __builtin_memcpy(&y, &x, sizeof y);
    return y;
}

inline unsigned __float_as_uint(float x) { return sim_bits<unsigned>(x); }
inline int __float_as_int(float x) { return sim_bits<int>(x); }
inline float __uint_as_float(unsigned x) { return sim_bits<float>(x); }
inline float __int_as_float(int x) { return sim_bits<float>(x); }
inline long long __double_as_longlong(double x) { return sim_bits<long long>(x); }
inline double __longlong_as_double(long long x) { return sim_bits<double>(x); }
inline unsigned __umulhi(unsigned x, unsigned y) {
    return static_cast<unsigned>(static_cast<unsigned long long>(x) * y >> 32);
}
inline int __mulhi(int x, int y) { return static_cast<int>(static_cast<long long>(x) * y >> 32); }
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    return static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64);
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }
inline int __float2int_rn(float x) { return static_cast<int>(rintf(x)); }
inline int __float2int_rz(float x) { return static_cast<int>(x); }
