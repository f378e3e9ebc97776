// Sums over the rows of a matrix, for every column, in a fixed order: blocks sum chunks of rows, partial_sums.cu sums
// the chunks. Blocks: (tile of columns, chunk of rows).
#pragma once

#include "common.cuh"

constexpr int COLUMN_THREADS = 256;
constexpr int COLUMN_WARPS = COLUMN_THREADS / WARP;
constexpr int TILE = 256; // columns of a block

// Writes to sums[k * width + column] the sum over this block's rows of term k; terms(value, row, column) sets the terms
// of N neighbouring columns of a row. `width` is a multiple of N. A block has `chunk` rows.
template <int N, int TERMS, typename Terms>
__device__ __forceinline__ void column_sums(float* sums, long long rows, long long width, long long chunk,
    Terms terms) {
    __shared__ float of_warps[COLUMN_WARPS][TERMS][WARP * N];
    int warp = threadIdx.x / WARP;
    int lane = threadIdx.x % WARP;
    long long first = blockIdx.y * chunk;
    long long end = first + chunk < rows ? first + chunk : rows;
    for (int tile = 0; tile < TILE; tile += WARP * N) {
        long long left = static_cast<long long>(blockIdx.x) * TILE + tile;
        long long column = left + lane * N;
        float sum[TERMS][N] = {};
        if (column < width) {
#pragma unroll 4
            for (long long row = first + warp; row < end; row += COLUMN_WARPS) {
                float value[TERMS][N];
                terms(value, row, column);
#pragma unroll
                for (int k = 0; k < TERMS; ++k) {
#pragma unroll
                    for (int j = 0; j < N; ++j) {
                        sum[k][j] += value[k][j];
                    }
                }
            }
        }
#pragma unroll
        for (int k = 0; k < TERMS; ++k) {
#pragma unroll
            for (int j = 0; j < N; ++j) {
                of_warps[warp][k][lane * N + j] = sum[k][j];
            }
        }
        __syncthreads();
        for (int i = threadIdx.x; i < TERMS * WARP * N; i += COLUMN_THREADS) {
            int k = i / (WARP * N);
            int at = i % (WARP * N);
            float total = 0;
#pragma unroll
            for (int w = 0; w < COLUMN_WARPS; ++w) {
                total += of_warps[w][k][at];
            }
            if (left + at < width) {
                sums[k * width + left + at] = total;
            }
        }
        __syncthreads();
    }
}
