// Iteration over the elements of an operation. Each block takes a chunk: whole packs if all pointers are aligned, else,
// and at the end of the chunk, single elements. Neighbouring threads always access neighbouring addresses.
#pragma once

#include "common.cuh"

constexpr int THREADS = 256;
constexpr int CHUNK = 2048; // elements of a block

// Elements of a pack: 16 bytes. If tensors of both sizes are used, the single-precision ones determine it: with more
// elements in a pack, the accesses of neighbouring threads would have gaps.
constexpr int PACK = 16 / sizeof(T);
constexpr int MIXED_PACK = 4;

// Calls body(first element, Count<N>()) so that each element of a chunk below n is processed once.
template <int N, typename Body>
__device__ __forceinline__ void for_each(long long chunk, long long n, bool packs, Body body) {
    long long first = chunk * CHUNK;
    if (packs && first + CHUNK <= n) {
#pragma unroll
        for (int i = 0; i < CHUNK; i += THREADS * N) {
            body(first + i + threadIdx.x * N, Count<N>());
        }
    } else {
        long long end = first + CHUNK < n ? first + CHUNK : n;
        for (long long i = first + threadIdx.x; i < end; i += THREADS) {
            body(i, Count<1>());
        }
    }
}

// Processes the block's own chunk; there are as many blocks as chunks.
template <int N, typename Body>
__device__ __forceinline__ void for_each(long long n, bool packs, Body body) {
    for_each<N>(blockIdx.x, n, packs, body);
}
