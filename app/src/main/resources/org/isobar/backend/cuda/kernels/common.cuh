// Shared by several kernels: the type of products, conversions, vector access, sums over a warp and a block.
#pragma once

#include "ptx.cuh"

// The type that products are computed in, given with -DTYPE=...: float, half_t or bf16_t. The macro is not named T
// because that would change the compiler's own headers.
#ifdef TYPE
using T = TYPE;
#elif !defined(T)
using T = float;
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
constexpr float LARGEST = 0x1.fffffep127f; // finite number in single precision

__device__ __forceinline__ float infinity() { return __uint_as_float(0x7f800000u); }

// The sum over the lanes of a warp; all lanes get the same bits.
template <typename Number>
__device__ __forceinline__ Number warp_sum(Number x) {
#pragma unroll
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        x += __shfl_xor_sync(ALL_LANES, x, distance);
    }
    return x;
}

// The sum over the threads of a block; all threads get the same bits. Sums each warp, then the warps' sums in order.
// All threads of the block must call it.
template <int THREADS, typename Number>
__device__ __forceinline__ Number block_sum(Number x) {
    __shared__ Number sums[THREADS / WARP];
    x = warp_sum(x);
    __syncthreads(); // what an earlier call left has been read
    if (threadIdx.x % WARP == 0) {
        sums[threadIdx.x / WARP] = x;
    }
    __syncthreads();
    Number sum = 0;
#pragma unroll
    for (int warp = 0; warp < THREADS / WARP; ++warp) {
        sum += sums[warp];
    }
    return sum;
}

// A number as a type: tells a generic lambda how many elements to take.
template <int N>
struct Count {
    static constexpr int value = N;
};

// N neighbours, loaded or stored in one access of at most 16 bytes.
template <typename Element, int N>
struct __align__(sizeof(Element) * N) Pack {
    static_assert(sizeof(Element) * N <= 16, "one access moves 16 bytes at most");
    Element at[N];
};

template <int N, typename Element>
__device__ __forceinline__ void load(float (&value)[N], const Element* from) {
    Pack<Element, N> pack = *reinterpret_cast<const Pack<Element, N>*>(from);
#pragma unroll
    for (int j = 0; j < N; ++j) {
        value[j] = to_float(pack.at[j]);
    }
}

template <int N, typename Element>
__device__ __forceinline__ void store(Element* to, const float (&value)[N]) {
    Pack<Element, N> pack;
#pragma unroll
    for (int j = 0; j < N; ++j) {
        pack.at[j] = from_float<Element>(value[j]);
    }
    *reinterpret_cast<Pack<Element, N>*>(to) = pack;
}

// The elements that share a word of 4 bytes, the first in its lower part.
template <typename Element> __device__ __forceinline__ unsigned word(const float* value);
template <> __device__ __forceinline__ unsigned word<float>(const float* value) { return __float_as_uint(value[0]); }
template <> __device__ __forceinline__ unsigned word<half_t>(const float* value) {
    return pack_half2(value[0], value[1]);
}
template <> __device__ __forceinline__ unsigned word<bf16_t>(const float* value) {
    return pack_bf162(value[0], value[1]);
}

// The same to global memory, for packs of 16 bytes whose stores the compiler splits.
template <int N, typename Element>
__device__ __forceinline__ void store_whole(Element* to, const float (&value)[N]) {
    if constexpr (N == 1) {
        store(to, value);
    } else {
        constexpr int EACH = N / 4; // elements of a word
        static_assert(sizeof(Element) * EACH == sizeof(unsigned), "a pack has 16 bytes");
        store_global_16(to, word<Element>(value), word<Element>(value + EACH), word<Element>(value + 2 * EACH),
            word<Element>(value + 3 * EACH));
    }
}

// Whether all pointers are multiples of 16, so that packs can be loaded and stored there.
template <typename... Pointers>
__device__ __forceinline__ bool aligned(const Pointers*... pointers) {
    return ((reinterpret_cast<unsigned long long>(pointers) | ...) & 15) == 0;
}
