// Tiles of tokens in shared memory, for attention: their layout, and copies to and from global memory.
//
// A tile is (rows, COLS) of type T, row-major, in chunks of 16 bytes. ldmatrix reads one chunk of each of eight
// neighbouring rows at a time. It is fast if these eight chunks lie in eight different groups of four banks. The chunks
// of a row are therefore permuted by an exclusive or with bits of the row's number. With C chunks per row and P the
// largest power of two that divides C, at most 8, eight rows already begin at 8 / P different groups (48 columns of
// bf16: C = 6, P = 2). Only the lower log2 P bits need to change, once in 8 / P rows:
//
//     C = 8   row 0: 0 1 2 3 4 5 6 7        C = 6   rows 0-3: 0 1 2 3 4 5
//             row 1: 1 0 3 2 5 4 7 6                rows 4-7: 1 0 3 2 5 4
//             row 2: 2 3 0 1 6 7 4 5
//
// The layout needs no padding columns, neither for bank conflicts nor for heads of 48 or 80 channels.
#pragma once

#include "common.cuh"

#ifndef HEAD_DIM
#define HEAD_DIM 48
#endif
#ifndef WARPS
#define WARPS 4
#endif
#ifndef ROW_TILES  // of 16 rows, that each warp owns
#define ROW_TILES 2
#endif
#ifndef COLUMNS  // tokens of a tile that passes by
#define COLUMNS 64
#endif
#ifndef KEPT  // how many of the block's own operands stay in registers as fragments; others are read again each time
#define KEPT 1
#endif
#ifndef RESIDENT_BLOCKS  // to a multiprocessor, at least: limits the registers
#define RESIDENT_BLOCKS 2
#endif

constexpr int THREADS = WARPS * WARP;
constexpr int WARP_ROWS = 16 * ROW_TILES;
constexpr int ROWS = WARPS * WARP_ROWS;  // tokens that a block owns
constexpr int CHUNK = 16 / static_cast<int>(sizeof(T));
constexpr int HEAD_CHUNKS = HEAD_DIM / CHUNK;

// Offset of a chunk in a tile with C chunks per row, in elements.
template <int C>
__device__ __forceinline__ int place(int row, int chunk) {
    constexpr int P = (C & -C) < 8 ? (C & -C) : 8;
    return (row * C + (chunk ^ (row / (8 / P) & (P - 1)))) * CHUNK;
}

// The tokens of one sample and head in global memory: row i begins at data + i * stride.
struct Tokens {
    const T* data;
    long long stride;
    int count;
};

// Starts copying N tokens from `first` on to a tile (N, HEAD_DIM); tokens after the last become zero. A thread copies
// the same chunk of each STRIDE-th row if N and the number of threads permit. As `place` repeats after eight rows, its
// addresses then differ by constants. Otherwise, and if rows have few chunks, chunk i goes to thread i modulo THREADS;
// also in single precision if threads would idle, because code for 10.0 would spill. Few chunks of 48 rows take as many
// copies either way, and fewer registers with constants.
template <int N>
__device__ __forceinline__ void fetch(T* tile, Tokens tokens, int first) {
    constexpr bool GENERAL = HEAD_CHUNKS < 8 && N != 48 || CHUNK == 4 && THREADS % HEAD_CHUNKS != 0;
    constexpr int STRIDE = GENERAL ? 0 : THREADS / HEAD_CHUNKS / 8 * 8;
    if constexpr (STRIDE > 0 && N % (STRIDE > 0 ? STRIDE : 1) == 0) {
        if (STRIDE * HEAD_CHUNKS == THREADS || threadIdx.x < STRIDE * HEAD_CHUNKS) {
            int row = threadIdx.x / HEAD_CHUNKS;
            int chunk = threadIdx.x % HEAD_CHUNKS;
            T* to = tile + place<HEAD_CHUNKS>(row, chunk);
            const T* source = tokens.data + (first + row) * tokens.stride + chunk * CHUNK;
            int left = tokens.count - first - row;
#pragma unroll
            for (int i = 0; i < N; i += STRIDE) {
                cp_async_16(to + i * HEAD_DIM, source, i < left);
                source += STRIDE * tokens.stride;
            }
        }
        return;
    }
    constexpr int UNROLLED = N * HEAD_CHUNKS > 6 * THREADS ? 1 : 6;  // addresses of many rows would take many registers
#pragma unroll UNROLLED
    for (int begin = 0; begin < N * HEAD_CHUNKS; begin += THREADS) {
        int i = begin + threadIdx.x;
        if (N * HEAD_CHUNKS % THREADS == 0 || i < N * HEAD_CHUNKS) {
            int row = i / HEAD_CHUNKS;
            int chunk = i % HEAD_CHUNKS;
            bool valid = first + row < tokens.count;
            const T* source = tokens.data + (valid ? first + row : 0) * tokens.stride + chunk * CHUNK;
            cp_async_16(tile + place<HEAD_CHUNKS>(row, chunk), source, valid);
        }
    }
}

// Writes `count` of a warp's own rows of a tile, from `row` of the tile on, to `to` with the given stride.
__device__ __forceinline__ void write_rows(T* to, long long stride, const T* tile, int row, int count) {
    for (int i = threadIdx.x % WARP; i < count * HEAD_CHUNKS; i += WARP) {
        int r = i / HEAD_CHUNKS;
        int chunk = i % HEAD_CHUNKS;
        *reinterpret_cast<uint4*>(to + r * stride + chunk * CHUNK) =
            *reinterpret_cast<const uint4*>(tile + place<HEAD_CHUNKS>(row + r, chunk));
    }
}
