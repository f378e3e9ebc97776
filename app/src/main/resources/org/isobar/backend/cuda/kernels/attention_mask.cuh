// Dropout of attention's probabilities: a mask over (B, H, Tq, Tk) of the whole job, of which this device has a part.
// One evaluation of Philox gives the bits of four neighbouring keys, but a lane holds two neighbours at most. For each
// piece of 16 x WARP_ROWS, every lane therefore computes some neighbouring keys of one query, and lanes exchange bits.
#pragma once

#include "attention_fragments.cuh"
#include "philox.cuh"

#ifndef DROPOUT
#define DROPOUT 0
#endif

// By how many pieces of 16 tokens the backward kernels' inner loops are unrolled: as far as registers suffice.
constexpr int UNROLLED_PIECES = CHUNK == 8 && HEAD_DIM <= 64 && !DROPOUT ? COLUMNS / 16 : 1;

constexpr int LANE_KEYS = 8 * ROW_TILES;  // whose bits a lane works out

// Element (i, j) of the block's sample and head is element first + i * query + j * key of the whole mask.
struct Mask {
    PhiloxKey philox_key;
    unsigned long long first;
    unsigned long long query;
    unsigned long long key;
    unsigned long long threshold;

    __device__ __forceinline__ unsigned kept(unsigned word) const { return word < threshold ? 0 : 1; }

    // Bit k: whether key j + k of query i is kept, for LANE_KEYS keys.
    __device__ __forceinline__ unsigned keys(int i, int j) const {
        unsigned long long index = first + i * query + j * key;
        unsigned bits = 0;
        if (key == 1) {
            int skipped = static_cast<int>(index & 3);
#pragma unroll 1
            for (int k = 0; k < LANE_KEYS + skipped; k += 4) {
                uint4 words = philox(philox_key, (index + k) >> 2);
                bits |= (kept(words.x) | kept(words.y) << 1 | kept(words.z) << 2 | kept(words.w) << 3) << k;
            }
            return bits >> skipped;
        }
#pragma unroll 1
        for (int k = 0; k < LANE_KEYS; ++k) {
            bits |= kept(philox_bits(philox_key, index + k * key)) << k;
        }
        return bits;
    }
};

// Kernel parameters of the mask, and the mask of the block's sample and head; `scale` is the factor on kept elements.
#define MASK_PARAMETERS \
    unsigned long long mask_bits, unsigned long long mask_stream, unsigned long long mask_origin, \
    unsigned long long mask_sample, unsigned long long mask_head, unsigned long long mask_query, \
    unsigned long long mask_key, unsigned long long mask_threshold, float mask_scale
#define MASK_OF(sample, head) \
    Mask{{mask_bits, mask_stream}, mask_origin + (sample) * mask_sample + (head) * mask_head, mask_query, mask_key, \
        mask_threshold}

// Which of a lane's own elements of a warp's piece are kept: element e of piece n of row tile r.
struct Kept {
    unsigned bits;

    __device__ __forceinline__ bool operator()(int r, int n, int e) const { return bits >> (8 * r + 4 * n + e) & 1; }
};

// Mask of the piece of queries i to i + WARP_ROWS and keys j to j + 16, with queries as rows.
__device__ __forceinline__ Kept kept_of_queries(const Mask& mask, int i, int j) {
    unsigned mine = mask.keys(i + lane() % WARP_ROWS, j + lane() / WARP_ROWS * LANE_KEYS);
    unsigned bits = 0;
#pragma unroll
    for (int r = 0; r < ROW_TILES; ++r) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
#pragma unroll
            for (int n = 0; n < 2; ++n) {
                int source = 16 * r + 8 * half + lane_row() + 8 * n / LANE_KEYS * WARP_ROWS;
                unsigned row = __shfl_sync(ALL_LANES, mine, source);
                bits |= (row >> (8 * n % LANE_KEYS + lane_column()) & 3) << (8 * r + 4 * n + 2 * half);
            }
        }
    }
    return {bits};
}

// Mask of the piece of keys j to j + WARP_ROWS and queries i to i + 16, with keys as rows.
__device__ __forceinline__ Kept kept_of_keys(const Mask& mask, int j, int i) {
    unsigned mine = mask.keys(i + lane() % 16, j + lane() / 16 * LANE_KEYS);
    unsigned bits = 0;
#pragma unroll
    for (int e = 0; e < 8 * ROW_TILES; ++e) {
        int key = e / 8 * 16 + e / 2 % 2 * 8;  // and lane_row() on
        int query = e / 4 % 2 * 8 + lane_column() + e % 2;
        unsigned column = __shfl_sync(ALL_LANES, mine, query + key / LANE_KEYS * 16);
        bits |= (column >> (key % LANE_KEYS + lane_row()) & 1) << e;
    }
    return {bits};
}
