// Attention, backward: gradient of the queries. With p = exp(q k^T / sqrt D - lse), delta = sum of dOut out:
//
//     ds = p * (mask * dOut v^T - delta)        dq = ds k / sqrt D
//
// A block owns ROWS queries of one head, divided among its warps as in attention_forward.cu, and iterates over the
// keys, COLUMNS at a time. 16 keys are in registers at once:
//
//     p (WARP_ROWS, 16) = exp2 of q k^T;  dp (WARP_ROWS, 16) = dOut v^T;  ds rounded to the type;  sums += ds k
//
// attention_backward_keys.cu computes p and dp as well. Recomputing them here means that no sum is shared between
// blocks: each sum has a fixed order and gives the same bits each time.
#include "attention_mask.cuh"

struct RowStatistics {
    float lse[ROW_TILES][2];  // in units of log 2
    float delta[ROW_TILES][2];

    __device__ __forceinline__ RowStatistics(const float2* statistics, int row) {
#pragma unroll
        for (int i = 0; i < 2 * ROW_TILES; ++i) {
            float2 both = statistics[row + 8 * i + lane_row()];
            lse[i / 2][i % 2] = both.x;
            delta[i / 2][i % 2] = both.y;
        }
    }
};

using Pieces = Sum[ROW_TILES][2];  // (WARP_ROWS, 16)

// Turns dp into ds; ds of the keys from `count` on is zero.
__device__ __forceinline__ void slopes_of(Pieces& dp, const Pieces& scores, const RowStatistics& row, Kept kept,
    int count, float scale, float mask_scale) {
#pragma unroll
    for (int r = 0; r < ROW_TILES; ++r) {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            int n = i / 4;
            int e = i % 4;
            float p = exp2_fast(fmaf(scores[r][n][e], scale, -row.lse[r][e / 2]));
            float& x = dp[r][n][e];
            if (DROPOUT) {
                x = kept(r, n, e) ? mask_scale * x : 0;
            }
            x = 8 * n + lane_column() + e % 2 < count ? p * (x - row.delta[r][e / 2]) : 0;
        }
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT_BLOCKS) attention_backward_queries(
    T* dq,            // (B, Tq, H, D)
    const T* q,       // (B, Tq, H, D)
    const T* kv,      // (B, Tk, 2, H, D)
    const T* d_out,   // (B, Tq, H, D)
    const float2* statistics, // (B, H, padded): see attention_statistics.cu
    int queries, int keys, int heads, int padded,
    float scale,      // 1 / sqrt(D)
    float scale_log2, // log2(e) / sqrt(D)
    MASK_PARAMETERS) {
    DYNAMIC_SHARED(T, query_tile);                // (ROWS, D): at last dq
    T* d_out_tile = query_tile + ROWS * HEAD_DIM; // (ROWS, D)
    T* tiles = d_out_tile + ROWS * HEAD_DIM;      // two of (2, COLUMNS, D): keys, values
    constexpr int TILE = COLUMNS * HEAD_DIM;
    int head = blockIdx.y;
    long long sample = blockIdx.z;
    long long width = heads * HEAD_DIM;
    long long query_offset = (sample * queries * heads + head) * HEAD_DIM;
    Tokens key = {kv + (sample * keys * 2 * heads + head) * HEAD_DIM, 2 * width, keys};
    Tokens value = {key.data + width, 2 * width, keys};
    int own = threadIdx.x / WARP * WARP_ROWS;  // the warp's first row in the block's tiles
    int row = blockIdx.x * ROWS + own;
    Mask mask = MASK_OF(sample, head);

    fetch<ROWS>(query_tile, {q + query_offset, width, queries}, blockIdx.x * ROWS);
    fetch<ROWS>(d_out_tile, {d_out + query_offset, width, queries}, blockIdx.x * ROWS);
    fetch<COLUMNS>(tiles, key, 0);
    fetch<COLUMNS>(tiles + TILE, value, 0);
    cp_async_commit();
    RowStatistics row_statistics(statistics + (sample * heads + head) * padded, row);
    cp_async_wait<0>();
    __syncthreads();
    OwnRows<(KEPT > 0)> query_rows(query_tile, own);
    OwnRows<(KEPT > 1)> d_out_rows(d_out_tile, own);

    RowSums sums;
    clear(sums);
    for (int first = 0, stage = 0; first < keys; first += COLUMNS, stage ^= 1) {
        const T* tile = tiles + 2 * TILE * stage;
        cp_async_wait<0>();
        __syncthreads();  // this tile is complete, and no thread reads the last one any more
        if (first + COLUMNS < keys) {
            T* next = tiles + 2 * TILE * (stage ^ 1);
            fetch<COLUMNS>(next, key, first + COLUMNS);
            fetch<COLUMNS>(next + TILE, value, first + COLUMNS);
            cp_async_commit();
        }
#pragma unroll UNROLLED_PIECES
        for (int c = 0; c < COLUMNS && first + c < keys; c += 16) {
            Pieces scores;
            Pieces dp;
            dot_products(scores, query_rows, tile, c);
            dot_products(dp, d_out_rows, tile + TILE, c);
            Kept kept = {0};
            if (DROPOUT) {
                kept = kept_of_queries(mask, row, first + c);
            }
            slopes_of(dp, scores, row_statistics, kept, keys - first - c, scale_log2, mask_scale);
            Piece left[ROW_TILES];
            left_of(left, dp);
            add_product(sums, left, tile, c);
        }
    }
    store_sums(query_tile, own, sums, scale);
    __syncwarp();
    write_rows(dq + query_offset + row * width, width, query_tile, own, min(WARP_ROWS, queries - row));
}
