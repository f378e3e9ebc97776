// The simulated machine's twin of the kernels' ptx.cuh: the same names and signatures, in C++.
#pragma once

#define DYNAMIC_SHARED(type, name) type* const name = static_cast<type*>(sim_dynamic_shared())

struct half_t { unsigned short bits; };
struct bf16_t { unsigned short bits; };

struct BlockIndex { int x, y, z; };

inline BlockIndex read_block_index() {
    return {static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y), static_cast<int>(blockIdx.z)};
}

// ---- conversions, to nearest, ties to even ----

inline float half_to_float(half_t x) {
    unsigned sign = static_cast<unsigned>(x.bits & 0x8000u) << 16;
    unsigned exponent = x.bits >> 10 & 0x1fu;
    unsigned fraction = x.bits & 0x3ffu;
    if (exponent == 0) {
        float magnitude = static_cast<float>(fraction) * 0x1p-24f;
        return sign != 0 ? -magnitude : magnitude;
    }
    unsigned wide = exponent == 0x1fu ? 0xffu : exponent + 127 - 15;
    return __uint_as_float(sign | wide << 23 | fraction << 13);
}

// The lowest bits of a word are rounded away: to the nearest, to an even one from half-way.
inline unsigned sim_round_off(unsigned word, unsigned count) {
    unsigned odd = word >> count & 1u;
    return (word + ((1u << (count - 1)) - 1) + odd) >> count;
}

inline half_t float_to_half(float x) {
    unsigned bits = __float_as_uint(x);
    unsigned sign = bits >> 16 & 0x8000u;
    unsigned magnitude = bits & 0x7fffffffu;
    unsigned result;
    if (magnitude > 0x7f800000u) {
        return {0x7fffu};  // the device's NaN
    }
    if (magnitude >= 0x38800000u) {  // 2^-14 and up: normal
        result = sim_round_off(magnitude - ((127u - 15u) << 23), 13);
        result = result > 0x7c00u ? 0x7c00u : result;
    } else {
        // Subnormal: a multiple of 2^-24, found by adding a number whose last bit is worth that.
        result = __float_as_uint(__uint_as_float(magnitude) + 0.5f) - __float_as_uint(0.5f);
    }
    return {static_cast<unsigned short>(sign | result)};
}

inline float bf16_to_float(bf16_t x) { return __uint_as_float(static_cast<unsigned>(x.bits) << 16); }

inline bf16_t float_to_bf16(float x) {
    unsigned bits = __float_as_uint(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return {0x7fffu};  // the device's NaN
    }
    return {static_cast<unsigned short>(sim_round_off(bits, 16))};
}

inline unsigned pack_half2(float low, float high) {
    return static_cast<unsigned>(float_to_half(high).bits) << 16 | float_to_half(low).bits;
}

inline unsigned pack_bf162(float low, float high) {
    return static_cast<unsigned>(float_to_bf16(high).bits) << 16 | float_to_bf16(low).bits;
}

inline unsigned float_to_tf32(float x) {
    unsigned bits = __float_as_uint(x);
    bool finite = (bits & 0x7f800000u) != 0x7f800000u;
    return finite ? (bits + 0x1000u) & 0xffffe000u : bits;
}

// ---- functions ----

inline float exp2_fast(float x) {
    float y = exp2f(x);
    return y < 0x1p-126f ? 0.0f : y;
}

inline float reciprocal_fast(float x) {
    float y = 1 / x;
    bool subnormal = y < 0x1p-126f && y > -0x1p-126f;
    return subnormal ? __builtin_copysignf(0, y) : y;
}

// ---- matrix products of a warp ----

inline void mma_16816_bf16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2], SIM_PLACE) {
    sim_mma(0, d, a, b, file, line);
}

inline void mma_16816_half(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2], SIM_PLACE) {
    sim_mma(1, d, a, b, file, line);
}

inline void mma_1688_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2], SIM_PLACE) {
    sim_mma(2, d, a, b, file, line);
}

// ---- shared memory to fragments ----

inline void ldmatrix_x4(unsigned (&r)[4], const void* row, SIM_PLACE) { sim_ldmatrix(r, row, 0, file, line); }

inline void ldmatrix_x4_trans(unsigned (&r)[4], const void* row, SIM_PLACE) { sim_ldmatrix(r, row, 1, file, line); }

// ---- asynchronous copies: their data arrives at the wait, not before ----

inline void cp_async_16(void* shared, const void* global, bool valid, SIM_PLACE) {
    sim_copy_async(shared, global, valid, file, line);
}

inline void cp_async_commit() { sim_commit_async(); }

template <int N> inline void cp_async_wait() { sim_wait_async(N); }

// ---- stores to global memory ----

inline void store_global_16(void* to, unsigned x, unsigned y, unsigned z, unsigned w) {
    *static_cast<uint4*>(to) = make_uint4(x, y, z, w);
}

// ---- sums over several blocks, and their order ----

inline void add_pair(float* to, float x, float y) {
    atomicAdd(to, x);
    atomicAdd(to + 1, y);
}

inline int load_acquire(const int* counter, SIM_PLACE) {
    sim_poll(file, line);
    return atomicAdd(const_cast<int*>(counter), 0);
}

inline void add_relaxed(int* counter, int x) { atomicAdd(counter, x); }

inline void fence_device() { sim_fence(); }
