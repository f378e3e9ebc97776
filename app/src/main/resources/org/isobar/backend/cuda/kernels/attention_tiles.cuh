// Tiles of tokens in shared memory, for attention: how they lie there, how they come and go.
//
// A tile is (rows, COLS) of type T, a row after the other, in chunks of 16 bytes. ldmatrix reads one chunk of each of
// eight neighbouring rows at a time, and is fast if these eight lie in eight different groups of four banks; so the
// chunks of a row change places by an exclusive or with the row's number. With C chunks to a row and P the largest
// power of two in C, at most 8, eight rows begin at 8 / P different groups already (48 columns of bf16: C = 6, P = 2),
// so only the lower log2 P bits need to move, once in 8 / P rows:
//
//     C = 8   row 0: 0 1 2 3 4 5 6 7        C = 6   rows 0-3: 0 1 2 3 4 5
//             row 1: 1 0 3 2 5 4 7 6                rows 4-7: 1 0 3 2 5 4
//             row 2: 2 3 0 1 6 7 4 5
//
// No column is added for that, and none because a head has 48 or 80 channels and not 64 or 128.
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

// Where a chunk lies in a tile with C chunks to a row, in elements.
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

// Starts to copy N tokens from `first` on to a tile (N, HEAD_DIM); those behind the last become zero.
template <int N>
__device__ __forceinline__ void fetch(T* tile, Tokens tokens, int first) {
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

// Writes `count` of a warp's own rows of a tile, from `row` of the tile on, to where `to` and its stride say.
__device__ __forceinline__ void write_rows(T* to, long long stride, const T* tile, int row, int count) {
    for (int i = threadIdx.x % WARP; i < count * HEAD_CHUNKS; i += WARP) {
        int r = i / HEAD_CHUNKS;
        int chunk = i % HEAD_CHUNKS;
        *reinterpret_cast<uint4*>(to + r * stride + chunk * CHUNK) =
            *reinterpret_cast<const uint4*>(tile + place<HEAD_CHUNKS>(row + r, chunk));
    }
}
