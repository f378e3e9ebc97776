// How operations go over their elements: each block takes a chunk, whole packs where all pointers allow it, else, and
// at the end, one element after the other; neighbouring threads always touch neighbouring addresses.
#pragma once

#include "common.cuh"

constexpr int THREADS = 256;
constexpr int CHUNK = 2048; // elements of a block

// Elements of a pack: 16 bytes. Where tensors of both sizes meet, those in single precision set it: with more in a
// pack, neighbouring threads would leave gaps.
constexpr int PACK = 16 / sizeof(T);
constexpr int MIXED_PACK = 4;

// Calls body(first element, Count<N>()) so that the elements of a chunk that are below n are taken once each.
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

// The same for the block's own chunk, of as many blocks as there are chunks.
template <int N, typename Body>
__device__ __forceinline__ void for_each(long long n, bool packs, Body body) {
    for_each<N>(blockIdx.x, n, packs, body);
}
