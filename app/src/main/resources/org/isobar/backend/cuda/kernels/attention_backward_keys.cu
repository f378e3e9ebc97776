// Attention, backward: gradients of keys and values. With p = exp(q k^T / sqrt D - lse), delta = sum of dOut out:
//
//     dv = (mask * p)^T dOut      ds = p * (mask * dOut v^T - delta)      dk = ds^T q / sqrt D
//
// A block owns ROWS keys of one head, WARP_ROWS per warp, and iterates over the queries, COLUMNS at a time. Products
// are computed transposed, with keys as rows. p^T and ds^T are then already left operands in registers (Dao, 2023, has
// queries as rows and sends ds through shared memory).
//
//                     queries, dOut, lse and delta, two stages
//                  +------------+------------+----
//                  |  COLUMNS   |  COLUMNS   |  ...
//                  +------------+------------+----
//      +--------+  +---+
//      | warp 0 |  |16 |  16 queries at once: p^T, dp^T (WARP_ROWS, 16) = k q^T, v dOut^T
//      | warp 1 |  |   |  dv (WARP_ROWS, D) += p^T dOut,  dk (WARP_ROWS, D) += ds^T q
//      |  ...   |  +---+
//      +--------+
//
// With -DATOMIC or -DORDERED the block also adds its part of dq. ds^T of the whole tile goes through shared memory,
// because the sum is over the keys of all warps. The result is added to global memory by atomic additions: with ATOMIC
// in no defined order, with ORDERED in that of the blocks of keys, which wait for their turns. This saves the two
// products that attention_backward_queries.cu recomputes. For large heads attention_backward_shared.cu does the same.
//
// ds is computed in single precision and then rounded. In fp16 it may overflow if the loss scale is too large. The
// infinity then reaches the gradients, where the scaler detects it.
#include "attention_mask.cuh"
#include "attention_turns.cuh"

#ifndef ATOMIC
#define ATOMIC 0
#endif
#ifndef ORDERED
#define ORDERED 0
#endif

constexpr bool WITH_QUERIES = ATOMIC || ORDERED;
static_assert(!ORDERED || WARPS > 1, "the second warp awaits turns");

using Pieces = Sum[ROW_TILES][2];  // (WARP_ROWS, 16)

// Statistics (lse and delta) of the queries 2t and 2t + 1 of each of two pieces.
struct ColumnStatistics {
    float lse[4];  // in units of log 2
    float delta[4];

    __device__ __forceinline__ explicit ColumnStatistics(const float2* statistics) {
#pragma unroll
        for (int i = 0; i < 4; i += 2) {
            float4 pair = *reinterpret_cast<const float4*>(statistics + 4 * i + lane_column());
            lse[i] = pair.x;
            delta[i] = pair.y;
            lse[i + 1] = pair.z;
            delta[i + 1] = pair.w;
        }
    }
};

// Turns scores into masked weights (without the mask's factor) and dp into ds. ds of the warp's rows from `count` on is
// zeroed only if dq is computed, because only there it is summed with the ds of other keys.
__device__ __forceinline__ void weights_and_slopes(Pieces& scores, Pieces& dp, const ColumnStatistics& column,
    Kept kept, int count, float scale, float mask_scale) {
#pragma unroll
    for (int r = 0; r < ROW_TILES; ++r) {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            int query = i / 4 * 2 + i % 2;
            float& score = scores[r][i / 4][i % 4];
            float& x = dp[r][i / 4][i % 4];
            float p = exp2_fast(fmaf(score, scale, -column.lse[query]));
            bool keep = !DROPOUT || kept(r, i / 4, i % 4);
            if (DROPOUT) {
                x *= mask_scale;
            }
            x = p * ((keep ? x : 0) - column.delta[query]);
            score = keep ? p : 0;
        }
    }
    if (WITH_QUERIES && count < WARP_ROWS) {
#pragma unroll
        for (int i = 0; i < 8 * ROW_TILES; ++i) {
            float& x = dp[i / 8][i / 4 % 2][i % 4];
            x = 16 * (i / 8) + i % 4 / 2 * 8 + lane_row() < count ? x : 0;
        }
    }
}

// Stores ds^T (WARP_ROWS, 16) in the tile (ROWS, COLUMNS), from `row` and `column` on.
__device__ __forceinline__ void store_slopes(T* tile, int row, int column, const Pieces& slopes) {
#pragma unroll
    for (int i = 0; i < 4 * ROW_TILES; ++i) {
        int half = i % 2;
        int c = column + i / 2 % 2 * 8 + lane_column();
        const Sum& pair = slopes[i / 4][i / 2 % 2];
        T* to = tile + place<COLUMNS / CHUNK>(row + i / 4 * 16 + half * 8 + lane_row(), c / CHUNK) + c % CHUNK;
        Fragments<T>::write_pair(to, pair[2 * half], pair[2 * half + 1]);
    }
}

// dq (Tq, D) += ds k of one tile. Each warp computes some of the pieces of 16 queries and 8 PIECES channels.
__device__ __forceinline__ void add_query_gradient(float* dq, const T* slopes, const T* keys, int count) {
    // PIECES divides the head evenly; with six for 96 channels in single precision, code for 10.0 would spill.
    constexpr int PIECES = HEAD_DIM == 96 && CHUNK == 4 ? 4 : HEAD_DIM % 64 == 0 ? 8 : HEAD_DIM % 48 == 0 ? 6
        : HEAD_DIM == 80 ? 10 : 4;
    constexpr int PARTS = HEAD_DIM / 8 / PIECES;
    constexpr int UNROLLED = ORDERED && !DROPOUT && HEAD_DIM == 48 ? 8 : 1;  // with other heads it is not faster
#pragma unroll 1
    for (int unit = threadIdx.x / WARP; unit < COLUMNS / 16 * PARTS; unit += WARPS) {
        int query = unit / PARTS * 16;
        int column = unit % PARTS * PIECES * 8;
        if (query >= count) {
            continue;
        }
        Sum sums[PIECES] = {};
#pragma unroll UNROLLED
        for (int key = 0; key < ROWS; key += 16) {
            Piece left;
            Fragments<T>::template left_transposed<COLUMNS / CHUNK>(left, slopes + key * COLUMNS, 0, query);
#pragma unroll
            for (int i = 0; i < PIECE_STEPS * PIECES; i += 2) {
                int step = i / PIECES;
                int n = i % PIECES;
                unsigned b[4];
                Fragments<T>::template right<HEAD_CHUNKS>(b, keys + key * HEAD_DIM, STEP * step, column + 8 * n);
                multiply(T(), sums[n], left[step], b[0], b[1]);
                multiply(T(), sums[n + 1], left[step], b[2], b[3]);
            }
        }
        float* to = dq + query * HEAD_DIM + 16 * column + 2 * lane();
#pragma unroll
        for (int i = 0; i < 2 * PIECES; ++i) {
            add_pair(to + 64 * i, sums[i / 2][2 * (i % 2)], sums[i / 2][2 * (i % 2) + 1]);
        }
    }
}

// The block's work. With ORDERED it is read from shared memory each time, because registers are scarce.
__device__ __forceinline__ Work current(const Work* work) {
    return ORDERED ? *work : Work{blockIdx.x, blockIdx.y, blockIdx.z, 0};
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT_BLOCKS) attention_backward_keys(
    T* dkv,           // (B, Tk, 2, H, D)
    float* dq_sums,   // (B, H, padded / 16, D / 8, 16, 8), added to: with ATOMIC or ORDERED
    int* turns,       // tickets taken, then a counter for each tile (B, H, padded / COLUMNS), all 0: with ORDERED
    const T* q,       // (B, Tq, H, D)
    const T* kv,      // (B, Tk, 2, H, D)
    const T* d_out,   // (B, Tq, H, D)
    const float2* statistics, // (B, H, padded): see attention_statistics.cu
    int queries, int keys, int heads, int padded,
    float scale,      // 1 / sqrt(D)
    float scale_log2, // log2(e) / sqrt(D)
    MASK_PARAMETERS) {
    constexpr int TILE = COLUMNS * HEAD_DIM;
    DYNAMIC_SHARED(T, key_tile);                  // (ROWS, D): at last dk
    T* value_tile = key_tile + ROWS * HEAD_DIM;   // (ROWS, D): at last dv
    T* tiles = value_tile + ROWS * HEAD_DIM;      // two of (2, COLUMNS, D): queries, dOut
    T* slopes = tiles + 4 * TILE;                 // (ROWS, COLUMNS): with ATOMIC
    float2* columns = reinterpret_cast<float2*>(slopes + WITH_QUERIES * ROWS * COLUMNS);  // two of (COLUMNS)
    Work* ticket = reinterpret_cast<Work*>(columns + 2 * COLUMNS);                  // with ORDERED
    if (ORDERED) {
        take_ticket(ticket, turns, padded / COLUMNS);
    }
    Work work = current(ticket);
    int head = work.head;
    long long sample = work.sample;
    long long width = heads * HEAD_DIM;
    long long query_offset = (sample * queries * heads + head) * HEAD_DIM;
    long long key_offset = (sample * keys * 2 * heads + head) * HEAD_DIM;
    Tokens query = {q + query_offset, width, queries};
    Tokens gradient = {d_out + query_offset, width, queries};
    statistics += ORDERED ? 0 : (sample * heads + head) * padded;
    int own = threadIdx.x / WARP * WARP_ROWS;  // the warp's first row in the block's tiles
    int row = work.block * ROWS + own;
    Mask mask = MASK_OF(sample, head);
    auto fetch_queries = [&](int stage, int first) {
        T* tile = tiles + 2 * TILE * stage;
        if constexpr (ORDERED) {  // addresses are computed again, because registers are scarce
            Work at = current(ticket);
            long long row = static_cast<long long>(at.sample) * heads + at.head;
            long long offset = (static_cast<long long>(at.sample) * queries * heads + at.head) * HEAD_DIM;
            fetch_columns(tile, columns + COLUMNS * stage, {q + offset, width, queries},
                {d_out + offset, width, queries}, statistics + row * padded, first);
        } else {
            fetch_columns(tile, columns + COLUMNS * stage, query, gradient, statistics, first);
        }
    };

    fetch<ROWS>(key_tile, {kv + key_offset, 2 * width, keys}, work.block * ROWS);
    fetch<ROWS>(value_tile, {kv + key_offset + width, 2 * width, keys}, work.block * ROWS);
    fetch_queries(0, 0);
    cp_async_wait<0>();
    __syncthreads();
    OwnRows<(KEPT > 0)> key_rows(key_tile, own);
    OwnRows<(KEPT > 1)> value_rows(value_tile, own);

    RowSums dk;
    RowSums dv;
    clear(dk);
    clear(dv);
    for (int first = 0, stage = 0; first < queries; first += COLUMNS, stage ^= 1) {
        const T* query_tile = tiles + 2 * TILE * stage;
        const T* d_out_tile = query_tile + TILE;
        cp_async_wait<0>();
        __syncthreads();  // this tile is complete, and no thread reads the last one any more
        if (first + COLUMNS < queries) {
            fetch_queries(stage ^ 1, first + COLUMNS);
        }
        if (ORDERED && threadIdx.x == 0 && first > 0) {
            pass_turn(turns + ticket->turn + first / COLUMNS - 1);
        }
#pragma unroll UNROLLED_PIECES
        for (int c = 0; c < COLUMNS && first + c < queries; c += 16) {
            Pieces weights;
            Pieces dp;
            dot_products(weights, key_rows, query_tile + c * HEAD_DIM, 0);
            dot_products(dp, value_rows, d_out_tile + c * HEAD_DIM, 0);
            Kept kept = {0};
            if (DROPOUT) {
                kept = kept_of_keys(mask, row, first + c);
            }
            ColumnStatistics column(columns + COLUMNS * stage + c);
            weights_and_slopes(weights, dp, column, kept, keys - row, scale_log2, mask_scale);
            Piece left[ROW_TILES];
            left_of(left, weights);
            add_product(dv, left, d_out_tile + c * HEAD_DIM, 0);
            left_of(left, dp);
            add_product(dk, left, query_tile + c * HEAD_DIM, 0);
            if (WITH_QUERIES) {
                store_slopes(slopes, own, c, dp);
            }
        }
        if (WITH_QUERIES) {
            Work at = current(ticket);
            if (ORDERED && threadIdx.x == WARP) {
                await_turn(turns + at.turn + first / COLUMNS, static_cast<int>(at.block));
            }
            __syncthreads();  // ds of all warps is there
            long long row = static_cast<long long>(at.sample) * heads + at.head;
            add_query_gradient(dq_sums + (row * padded + first) * HEAD_DIM, slopes, key_tile, queries - first);
        }
    }
    __syncthreads();  // with ATOMIC or ORDERED, others may still read this warp's keys
    if (ORDERED) {
        work = current(ticket);
        row = work.block * ROWS + own;
        key_offset = (static_cast<long long>(work.sample) * keys * 2 * heads + work.head) * HEAD_DIM;
        if (threadIdx.x == 0) {
            pass_turn(turns + work.turn + (queries - 1) / COLUMNS);
        }
    }
    store_sums(key_tile, own, dk, scale);
    store_sums(value_tile, own, dv, DROPOUT ? mask_scale : 1);
    __syncwarp();
    int count = min(WARP_ROWS, keys - row);
    long long offset = key_offset + row * 2 * width;
    write_rows(dkv + offset, 2 * width, key_tile, own, count);
    write_rows(dkv + offset + width, 2 * width, value_tile, own, count);
}
