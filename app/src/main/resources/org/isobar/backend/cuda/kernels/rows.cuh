// How a warp holds a row of a matrix. Blocks have four warps, one row each; a lane has the packs lane, lane + 32, ...
// With -DWIDTH=C, a multiple of 4, values that were read stay in registers. Without it, rows may have any length and
// values are read again, from the nearest cache.
#pragma once

#include "common.cuh"

// The launch bound ROW_THREADS, 1 keeps the compiler from spilling registers to fit more blocks.
constexpr int ROW_WARPS = 4;
constexpr int ROW_THREADS = ROW_WARPS * WARP;

#ifdef WIDTH

constexpr int ROW_PACK = 4;
constexpr int SHARE = (WIDTH / ROW_PACK + WARP - 1) / WARP; // packs of a lane
static_assert(WIDTH % ROW_PACK == 0, "rows of whole packs");

// Calls body(Count<N>()): rows are accessed in packs of N. All pointers are aligned to 16 bytes.
template <typename Body>
__device__ __forceinline__ void with_packs(int, bool, Body body) {
    body(Count<ROW_PACK>());
}

// Calls body(k, i): the lane's k-th pack begins at element i.
template <int N, typename Body>
__device__ __forceinline__ void for_each_pack(int, Body body) {
    static_assert(N == ROW_PACK, "rows of whole packs");
#pragma unroll
    for (int k = 0; k < SHARE; ++k) {
        int i = (k * WARP + static_cast<int>(threadIdx.x % WARP)) * N;
        if (i < WIDTH) {
            body(k, i);
        }
    }
}

template <int N, typename Element>
struct Row {
    float values[SHARE][N];

    __device__ __forceinline__ Row() {}

    __device__ __forceinline__ explicit Row(const Element* row) {
        for_each_pack<N>(WIDTH, [&](int k, int i) { load(values[k], row + i); });
    }

    __device__ __forceinline__ void get(float (&value)[N], int k, int) const {
#pragma unroll
        for (int j = 0; j < N; ++j) {
            value[j] = values[k][j];
        }
    }
};

#else

template <typename Body>
__device__ __forceinline__ void with_packs(int width, bool aligned_rows, Body body) {
    if (aligned_rows && width % 4 == 0) {
        body(Count<4>());
    } else {
        body(Count<1>());
    }
}

template <int N, typename Body>
__device__ __forceinline__ void for_each_pack(int width, Body body) {
#pragma unroll 4
    for (int i = static_cast<int>(threadIdx.x % WARP) * N; i < width; i += WARP * N) {
        body(0, i);
    }
}

template <int N, typename Element>
struct Row {
    const Element* row;

    __device__ __forceinline__ explicit Row(const Element* at) : row(at) {}

    __device__ __forceinline__ void get(float (&value)[N], int, int i) const { load(value, row + i); }
};

#endif
