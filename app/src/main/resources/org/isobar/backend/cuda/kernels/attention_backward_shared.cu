// Attention, backward: gradients of queries, keys and values in one kernel, for operands of 16 bits, without dropout.
// Formulas are those of attention_backward_keys.cu with ORDERED, and so is the order of all sums. A block owns ROWS
// keys of one head, iterates over the queries, COLUMNS at a time, and adds its part of dq in its turn.
//
// There a warp owns 16 keys through all products, so that p^T and ds^T stay in registers. But then each right operand
// that a warp reads from shared memory serves 16 rows only, and with large heads the port of shared memory limits the
// kernel. Here each product is divided among the eight warps anew, into parts that are nearly square, and p^T and ds^T
// of the whole tile go through shared memory. In reads of fragments (ldmatrix) for each mma:
//
//     p^T, dp^T (ROWS, COLUMNS) = k q^T, v dOut^T    a warp has 32 keys and 32 queries of both           1/2
//     dv (ROWS, D) += p^T dOut                       warps 0 to 3 have 64 keys and half of the channels  1/4
//     dk (ROWS, D) += ds^T q                         warps 4 to 7, the same                              1/4
//     dq (COLUMNS, D) += ds k                        a warp has 32 queries and a quarter of the channels 1/2
#include "attention_mask.cuh"
#include "attention_turns.cuh"

constexpr int TILE = COLUMNS * HEAD_DIM;
constexpr int SCORE_CHUNKS = COLUMNS / CHUNK;
constexpr int SUM_PIECES = HEAD_DIM / 16;    // of 8 channels, of dv or dk in a warp
constexpr int QUERY_PIECES = HEAD_DIM / 32;  // of dq
static_assert(!DROPOUT && ROWS == 128 && COLUMNS == 64 && WARPS == 8, "the parts of eight warps");
static_assert(HEAD_DIM % 64 == 0 && CHUNK == 8, "chunks are permuted in groups of eight");

using Square = Sum[2][4];         // (32 keys, 32 queries)
using Sums = Sum[4][SUM_PIECES];  // (64 keys, D / 2)

// Offset of the chunk that is `chunk` chunks to the right of the one at `at`. The number of the latter, modulo 8, has
// no bits in common with `chunk`.
__device__ __forceinline__ int beside(int at, int chunk) {
    return (at ^ chunk % 8 * CHUNK) + chunk / 8 * 8 * CHUNK;
}

// Offset of the chunk that this lane reads of 16 rows in a tile with C chunks per row: as left operand, or transposed
// as right operand.
template <int C>
__device__ __forceinline__ int place_of_rows() {
    return place<C>(lane() % 16, lane() / 16);
}

// The same as right operand, or transposed as left operand.
template <int C>
__device__ __forceinline__ int place_of_columns() {
    return place<C>(lane() % 8 + lane() / 16 * 8, lane() / 8 % 2);
}

// sums += left (16 M, 16) times right (16, 8 N).
template <int M, int N>
__device__ __forceinline__ void multiply_all(Sum (&sums)[M][N], const unsigned (&left)[M][4],
    const unsigned (&right)[N / 2][4]) {
#pragma unroll
    for (int i = 0; i < M * N; ++i) {
        const unsigned (&b)[4] = right[i % N / 2];
        multiply(T(), sums[i / N][i % N], left[i / N], b[i % 2 * 2], b[i % 2 * 2 + 1]);
    }
}

// sums = 32 rows of a tile (keys, D) . 32 rows of a tile (queries, D); lanes read from `left` and `right` on.
__device__ __forceinline__ void dot_products(Square& sums, const T* tiles, int left, int right) {
#pragma unroll
    for (int i = 0; i < 32; ++i) {
        sums[i / 16][i / 4 % 4][i % 4] = 0;
    }
#pragma unroll
    for (int step = 0; step < HEAD_STEPS; ++step) {
        unsigned a[2][4];
        unsigned b[2][4];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            ldmatrix_x4(a[i], tiles + beside(left, 2 * step) + 16 * i * HEAD_DIM);
            ldmatrix_x4(b[i], tiles + beside(right, 2 * step) + 16 * i * HEAD_DIM);
        }
        multiply_all(sums, a, b);
    }
}

// Rounds a warp's part into a tile (ROWS, COLUMNS); a lane stores from `at` on.
__device__ __forceinline__ void store_square(T* tile, int at, const Square& sums) {
#pragma unroll
    for (int i = 0; i < 16; ++i) {
        const Sum& pair = sums[i / 8][i / 2 % 4];
        int half = i % 2;
        T* to = tile + beside(at, i / 2 % 4) + (i / 8 * 16 + half * 8) * COLUMNS;
        Fragments<T>::write_pair(to, pair[2 * half], pair[2 * half + 1]);
    }
}

// Turns scores into weights.
__device__ __forceinline__ void weights_of(Square& scores, const float2* columns, float scale) {
#pragma unroll
    for (int n = 0; n < 4; ++n) {
        float4 pair = *reinterpret_cast<const float4*>(columns + 8 * n + lane_column());  // lse and delta of two
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            float& score = scores[i / 4][n][i % 4];
            score = exp2_fast(fmaf(score, scale, -(i % 2 == 0 ? pair.x : pair.z)));
        }
    }
}

// Turns dp into ds, which is zeroed from the key `count` on, because dq is the sum over all keys. The statistics are
// read a second time, because registers are scarce.
__device__ __forceinline__ void slopes_of(Square& dp, const Square& weights, const float2* columns, int count) {
#pragma unroll
    for (int n = 0; n < 4; ++n) {
        float4 pair = *reinterpret_cast<const float4*>(columns + 8 * n + lane_column());
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            float& x = dp[i / 4][n][i % 4];
            x = weights[i / 4][n][i % 4] * (x - (i % 2 == 0 ? pair.y : pair.w));
        }
    }
    if (count < 32) {
#pragma unroll
        for (int i = 0; i < 32; ++i) {
            float& x = dp[i / 16][i / 4 % 4][i % 4];
            x = i / 16 * 16 + i % 4 / 2 * 8 + lane_row() < count ? x : 0;
        }
    }
}

// sums (64 keys, D / 2) += p^T dOut or ds^T q, over a tile's queries; lanes read from `left` and `right` on.
__device__ __forceinline__ void add_over_queries(Sums& sums, const T* tiles, int left, int right) {
#pragma unroll
    for (int step = 0; step < COLUMNS / 16; ++step) {
        unsigned a[4][4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            ldmatrix_x4(a[i], tiles + beside(left, 2 * step) + 16 * i * COLUMNS);
        }
#pragma unroll
        for (int n = 0; n < SUM_PIECES; n += 2) {
            unsigned b[4];
            ldmatrix_x4_trans(b, tiles + beside(right, n) + 16 * step * HEAD_DIM);
#pragma unroll
            for (int r = 0; r < 4; ++r) {
                multiply(T(), sums[r][n], a[r], b[0], b[1]);
                multiply(T(), sums[r][n + 1], a[r], b[2], b[3]);
            }
        }
    }
}

// dq (32 of `count` queries, D / 4) += ds k, over the block's keys; lanes read from `left` and `right` on.
__device__ __forceinline__ void add_query_gradient(float* dq, const T* tiles, int left, int right, int count) {
    Sum sums[2][QUERY_PIECES] = {};
#pragma unroll
    for (int key = 0; key < ROWS; key += 16) {
        unsigned a[2][4];
        unsigned b[QUERY_PIECES / 2][4];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            ldmatrix_x4_trans(a[i], tiles + beside(left, 2 * i) + key * COLUMNS);
        }
#pragma unroll
        for (int i = 0; i < QUERY_PIECES / 2; ++i) {
            ldmatrix_x4_trans(b[i], tiles + beside(right, 2 * i) + key * HEAD_DIM);
        }
        multiply_all(sums, a, b);
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        if (16 * r < count) {
#pragma unroll
            for (int i = 0; i < 2 * QUERY_PIECES; ++i) {
                const Sum& pair = sums[r][i / 2];
                add_pair(dq + 16 * r * HEAD_DIM + 64 * i, pair[2 * (i % 2)], pair[2 * (i % 2) + 1]);
            }
        }
    }
}

// Rounds sums times a factor into a tile (ROWS, D), from `row` and `chunk` on.
__device__ __forceinline__ void store_sums(T* tile, int row, int chunk, const Sums& sums, float factor) {
#pragma unroll
    for (int i = 0; i < 8 * SUM_PIECES; ++i) {
        int half = i % 2;
        const Sum& pair = sums[i / 2 / SUM_PIECES][i / 2 % SUM_PIECES];
        int r = row + i / 2 / SUM_PIECES * 16 + half * 8 + lane_row();
        T* to = tile + place<HEAD_CHUNKS>(r, chunk + i / 2 % SUM_PIECES) + lane_column();
        Fragments<T>::write_pair(to, factor * pair[2 * half], factor * pair[2 * half + 1]);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT_BLOCKS) attention_backward_shared(
    T* dkv,           // (B, Tk, 2, H, D)
    float* dq_sums,   // (B, H, padded / 16, D / 8, 16, 8), added to
    int* turns,       // tickets taken, then a counter for each tile (B, H, padded / COLUMNS), all 0
    const T* q,       // (B, Tq, H, D)
    const T* kv,      // (B, Tk, 2, H, D)
    const T* d_out,   // (B, Tq, H, D)
    const float2* statistics, // (B, H, padded): see attention_statistics.cu
    int queries, int keys, int heads, int padded,
    float scale,      // 1 / sqrt(D)
    float scale_log2, // log2(e) / sqrt(D)
    MASK_PARAMETERS) {
    DYNAMIC_SHARED(T, tiles);
    constexpr int VALUES = ROWS * HEAD_DIM;             // after the keys (ROWS, D), at last dk: values, at last dv
    constexpr int STAGES = 2 * VALUES;                  // two of (2, COLUMNS, D): queries, dOut
    constexpr int WEIGHTS = STAGES + 4 * TILE;          // p^T (ROWS, COLUMNS)
    constexpr int SLOPES = WEIGHTS + ROWS * COLUMNS;    // ds^T
    float2* columns = reinterpret_cast<float2*>(tiles + SLOPES + ROWS * COLUMNS);  // two of (COLUMNS)
    Work* ticket = reinterpret_cast<Work*>(columns + 2 * COLUMNS);
    take_ticket(ticket, turns, padded / COLUMNS);
    long long width = heads * HEAD_DIM;
    int warp = threadIdx.x / WARP;
    // The warp's part of p^T and dp^T, of dv or dk, and of dq.
    int own_key = warp / 2 * 32;
    int own_query = warp % 2 * 32;
    bool of_keys = warp >= WARPS / 2;
    int sum_row = warp / 2 % 2 * 64;
    int sum_chunk = warp % 2 * (HEAD_CHUNKS / 2);
    int channel = warp / 2 * (HEAD_DIM / 4);
    // What blocks work on is read and addresses are computed again for each tile, because registers are scarce.
    auto fetch_queries = [&](int stage, int first) {
        Work at = *ticket;
        long long row = static_cast<long long>(at.sample) * heads + at.head;
        long long offset = (static_cast<long long>(at.sample) * queries * heads + at.head) * HEAD_DIM;
        fetch_columns(tiles + STAGES + 2 * TILE * stage, columns + COLUMNS * stage, {q + offset, width, queries},
            {d_out + offset, width, queries}, statistics + row * padded, first);
    };

    {
        Work at = *ticket;
        const T* key = kv + (static_cast<long long>(at.sample) * keys * 2 * heads + at.head) * HEAD_DIM;
        fetch<ROWS>(tiles, {key, 2 * width, keys}, at.block * ROWS);
        fetch<ROWS>(tiles + VALUES, {key + width, 2 * width, keys}, at.block * ROWS);
    }
    fetch_queries(0, 0);
    Sums sums = {};
#pragma unroll 1
    for (int first = 0, stage = 0; first < queries; first += COLUMNS, stage ^= 1) {
        cp_async_wait<0>();
        __syncthreads();  // this tile is complete, and no thread reads the last one any more
        if (first + COLUMNS < queries) {
            fetch_queries(stage ^ 1, first + COLUMNS);
        }
        int query_tile = STAGES + 2 * TILE * stage;
        {
            int left = own_key * HEAD_DIM + place_of_rows<HEAD_CHUNKS>();
            int right = query_tile + own_query * HEAD_DIM + place_of_columns<HEAD_CHUNKS>();
            int to = place<SCORE_CHUNKS>(own_key + lane_row(), own_query / CHUNK) + lane_column();
            const float2* statistics_tile = columns + COLUMNS * stage + own_query;
            Square weights;
            Square dp;
            dot_products(weights, tiles, left, right);
            weights_of(weights, statistics_tile, scale_log2);
            store_square(tiles + WEIGHTS, to, weights);
            // By now the additions to the last tile are a quarter of a tile old, so that the fence waits little.
            if (threadIdx.x == 0 && first > 0) {
                pass_turn(turns + ticket->turn + first / COLUMNS - 1);
            }
            if (threadIdx.x == WARP) {
                await_turn(turns + ticket->turn + first / COLUMNS, static_cast<int>(ticket->block));
            }
            dot_products(dp, tiles + VALUES, left, right + TILE - VALUES);
            slopes_of(dp, weights, statistics_tile, keys - ticket->block * ROWS - own_key);
            store_square(tiles + SLOPES, to, dp);
        }
        __syncthreads();  // p and ds of all warps are there
        add_over_queries(sums, tiles,
            (of_keys ? SLOPES : WEIGHTS) + sum_row * COLUMNS + place_of_rows<SCORE_CHUNKS>(),
            query_tile + (of_keys ? 0 : TILE) + beside(place_of_rows<HEAD_CHUNKS>(), sum_chunk));
        Work at = *ticket;
        long long row = (static_cast<long long>(at.sample) * heads + at.head) * padded + first + own_query;
        add_query_gradient(dq_sums + row * HEAD_DIM + 16 * channel + 2 * lane(), tiles,
            SLOPES + beside(place_of_columns<SCORE_CHUNKS>(), own_query / CHUNK),
            beside(place_of_rows<HEAD_CHUNKS>(), channel / CHUNK), queries - first - own_query);
    }
    __syncthreads();  // all have added to dq, and none reads keys any more
    Work work = *ticket;
    if (threadIdx.x == 0) {
        pass_turn(turns + work.turn + (queries - 1) / COLUMNS);
    }
    store_sums(tiles + (of_keys ? 0 : VALUES), sum_row, sum_chunk, sums, of_keys ? scale : 1);
    __syncthreads();
    int own = warp * WARP_ROWS;
    int row = work.block * ROWS + own;
    int count = min(WARP_ROWS, keys - row);
    T* to = dkv + (static_cast<long long>(work.sample) * keys * 2 * heads + work.head) * HEAD_DIM + row * 2 * width;
    write_rows(to, 2 * width, tiles, own, count);
    write_rows(to + width, 2 * width, tiles + VALUES, own, count);
}
