// What several kernels share: the type of products, conversions, sums over a warp and over a block.
#pragma once

#include "ptx.cuh"

// The type that products are computed in, given with -DT=...: float, half_t or bf16_t.
#ifndef T
#define T float
#endif

__device__ __forceinline__ float to_float(float x) { return x; }
__device__ __forceinline__ float to_float(half_t x) { return half_to_float(x); }
__device__ __forceinline__ float to_float(bf16_t x) { return bf16_to_float(x); }

template <typename To> __device__ __forceinline__ To from_float(float x);
template <> __device__ __forceinline__ float from_float<float>(float x) { return x; }
template <> __device__ __forceinline__ half_t from_float<half_t>(float x) { return float_to_half(x); }
template <> __device__ __forceinline__ bf16_t from_float<bf16_t>(float x) { return float_to_bf16(x); }

constexpr unsigned ALL_LANES = 0xffffffffu;
constexpr int WARP = 32;

// The sum over the lanes of a warp, the same bits in each.
template <typename Number>
__device__ __forceinline__ Number warp_sum(Number x) {
#pragma unroll
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        x += __shfl_xor_sync(ALL_LANES, x, distance);
    }
    return x;
}
