// Attention, forward: out = dropout(softmax(q k^T / sqrt D)) v and the log-sum-exp. No Tq x Tk matrix is stored.
//
// A block owns ROWS queries of one head and iterates over the keys, COLUMNS at a time (Dao, Fu, Ermon, Rudra, Re, 2022;
// the order of loops and the division of queries among warps are those of Dao, 2023):
//
//                     keys and values, two stages: one is read while the other is copied
//                  +------------+------------+----
//                  |  COLUMNS   |  COLUMNS   |  ...
//                  +------------+------------+----
//      +--------+  +------------+
//      | warp 0 |  |  scores of |  each warp: WARP_ROWS = 16 ROW_TILES queries, scores and sums (WARP_ROWS, D) in its
//      | warp 1 |  |  this tile |  registers; rows are never shared between warps
//      |  ...   |  +------------+
//      +--------+
//
// Each query has m, l (the sum of exp2(score - m)) and the sums of exp2(score - m) v. Scores are in units of log 2; the
// factor log2(e) / sqrt(D) is applied in the subtraction of m. m need not be the largest score, because weights above 1
// are as exact as weights up to 1 until they exceed the range of T. In a type with the range of single precision, m is
// therefore the largest score of the first tile. If l shows in the end that this was too small for a query of the
// block, the block starts again, with the online softmax (Milakov and Gimelshein, 2018): m is raised, and sums are
// rescaled, when a score exceeds m by more than LAG. In binary16, whose largest number is 65504, it does so at once.
//
// AttentionTiling explains the choice of sizes, docs/kernels.md lists them, and attention_plain.cu handles heads of
// other sizes.
#include "attention_mask.cuh"

constexpr float LN2 = 0.693147181f;
constexpr float LAG = 8;
constexpr float LARGEST_SUM = 0x1p64f;  // of weights: leaves room for values in the sums of values

// Whether m follows the scores in all tiles at once.
template <typename> constexpr bool NARROW = false;
template <> constexpr bool NARROW<half_t> = true;

// Whether most tiles are computed by code of their own. Larger heads leave no registers for it.
constexpr bool STRAIGHT = !NARROW<T> && CHUNK == 8 && HEAD_DIM <= 64 && !DROPOUT;

template <bool VALUE>
struct Flag {
    static constexpr bool SET = VALUE;
};

using Scores = Sum[ROW_TILES][COLUMNS / 8];

// The state carried from tile to tile, for rows g and g + 8 of each row tile.
struct RunningSoftmax {
    float largest[ROW_TILES][2];  // m, in units of log 2
    float sum[ROW_TILES][2];      // l, over this lane's columns
};

__device__ __forceinline__ float quad_max(float x) {
    x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, 1));
    return fmaxf(x, __shfl_xor_sync(ALL_LANES, x, 2));
}

__device__ __forceinline__ float quad_sum(float x) {
    x += __shfl_xor_sync(ALL_LANES, x, 1);
    return x + __shfl_xor_sync(ALL_LANES, x, 2);
}

// Masks out the keys from `count` of this tile on.
__device__ __forceinline__ void cut(Scores& scores, int count) {
#pragma unroll
    for (int i = 0; i < ROW_TILES * COLUMNS / 2; ++i) {
        int n = i / 4 % (COLUMNS / 8);
        if (8 * n + lane_column() + i % 2 >= count) {
            scores[i / 4 / (COLUMNS / 8)][n][i % 4] = -infinity();
        }
    }
}

// Raises m to the largest score of the tile in the rows that need it, and rescales their sums.
__device__ __forceinline__ void raise(RunningSoftmax& softmax, RowSums& sums, const Scores& scores, float scale) {
    float largest[ROW_TILES][2];  // of this lane's columns
    bool grows = false;
#pragma unroll
    for (int i = 0; i < 2 * ROW_TILES; ++i) {
        float x = -infinity();
#pragma unroll
        for (int n = 0; n < COLUMNS / 8; ++n) {
            x = fmaxf(x, fmaxf(scores[i / 2][n][i % 2 * 2], scores[i / 2][n][i % 2 * 2 + 1]));
        }
        largest[i / 2][i % 2] = x * scale;
        grows |= largest[i / 2][i % 2] > softmax.largest[i / 2][i % 2] + LAG;
    }
    if (NARROW<T> && !__any_sync(ALL_LANES, grows)) {  // in other types, tiles of which no row grows are rare
        return;
    }
#pragma unroll
    for (int i = 0; i < 2 * ROW_TILES; ++i) {
        float& m = softmax.largest[i / 2][i % 2];
        float x = quad_max(largest[i / 2][i % 2]);
        float factor = x > m + LAG ? exp2_fast(m - x) : 1;
        m = x > m + LAG ? x : m;
        softmax.sum[i / 2][i % 2] *= factor;
#pragma unroll
        for (int n = 0; n < HEAD_DIM / 8; ++n) {
            sums[i / 2][n][i % 2 * 2] *= factor;
            sums[i / 2][n][i % 2 * 2 + 1] *= factor;
        }
    }
}

// Turns scores into weights relative to m, and adds their sum to l.
__device__ __forceinline__ void weigh(Scores& scores, RunningSoftmax& softmax, float scale) {
#pragma unroll
    for (int r = 0; r < ROW_TILES; ++r) {
#pragma unroll
        for (int i = 0; i < COLUMNS / 2; ++i) {
            float& score = scores[r][i / 4][i % 4];
            score = exp2_fast(fmaf(score, scale, -softmax.largest[r][i % 4 / 2]));
            softmax.sum[r][i % 4 / 2] += score;
        }
    }
}

// Whether weights were too large for a row of this lane, or are not numbers.
__device__ __forceinline__ bool overflows(const RunningSoftmax& softmax) {
    bool over = false;
#pragma unroll
    for (int i = 0; i < 2 * ROW_TILES; ++i) {
        over |= !(softmax.sum[i / 2][i % 2] <= LARGEST_SUM);
    }
    return over;
}

// Returns the weights of 16 keys, from column 8 n of the tile on, as left operand.
__device__ __forceinline__ void weights_of(Piece (&left)[ROW_TILES], const Scores& scores, int n, Kept kept) {
#pragma unroll
    for (int r = 0; r < ROW_TILES; ++r) {
        Sum weights[2];
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            weights[i / 4][i % 4] = !DROPOUT || kept(r, i / 4, i % 4) ? scores[r][n + i / 4][i % 4] : 0;
        }
        Fragments<T>::left_of_sums(left[r], weights);
    }
}

// Divides by l and by the keep probability of dropout, and writes the warp's rows of out and lse.
__device__ __forceinline__ void finish(T* out, float* lse, T* tile, const RowSums& sums, const RunningSoftmax& softmax,
    int row, int queries, long long stride, float scale) {
    float factor[ROW_TILES][2];
#pragma unroll
    for (int i = 0; i < 2 * ROW_TILES; ++i) {
        float sum = quad_sum(softmax.sum[i / 2][i % 2]);
        factor[i / 2][i % 2] = scale / sum;
        int mine = row + 8 * i + lane_row();
        if (lane_column() == 0 && mine < queries) {
            lse[mine] = softmax.largest[i / 2][i % 2] * LN2 + logf(sum);
        }
    }
    int own = row % ROWS;
    store_sums(tile, own, sums, factor);
    __syncwarp();
    write_rows(out + row * stride, stride, tile, own, min(WARP_ROWS, queries - row));
}

extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT_BLOCKS) attention_forward(
    T* out,          // (B, Tq, H, D)
    float* lse,      // (B, H, Tq)
    const T* q,      // (B, Tq, H, D)
    const T* kv,     // (B, Tk, 2, H, D)
    int queries, int keys, int heads,
    float scale,     // log2(e) / sqrt(D)
    MASK_PARAMETERS) {
    DYNAMIC_SHARED(T, own_tile);             // (ROWS, D): queries, at last the output
    T* tiles = own_tile + ROWS * HEAD_DIM;   // two of (2, COLUMNS, D): keys, values
    constexpr int TILE = COLUMNS * HEAD_DIM;
    for (int following = NARROW<T> ? keys : COLUMNS;; following = keys) {  // m follows the scores of so many keys
        BlockIndex block = read_block_index();
        long long sample = block.z;
        long long width = heads * HEAD_DIM;
        Tokens own = {q + (sample * queries * heads + block.y) * HEAD_DIM, width, queries};
        Tokens key = {kv + (sample * keys * 2 * heads + block.y) * HEAD_DIM, 2 * width, keys};
        Tokens value = {key.data + width, 2 * width, keys};
        int row = block.x * ROWS + threadIdx.x / WARP * WARP_ROWS;  // the warp's first query
        Mask mask = MASK_OF(sample, block.y);

        fetch<ROWS>(own_tile, own, block.x * ROWS);
        fetch<COLUMNS>(tiles, key, 0);
        fetch<COLUMNS>(tiles + TILE, value, 0);
        cp_async_commit();
        cp_async_wait<0>();
        __syncthreads();
        OwnRows<(KEPT > 0)> rows(own_tile, row % ROWS);

        RowSums sums;
        clear(sums);
        RunningSoftmax softmax;
#pragma unroll
        for (int i = 0; i < 2 * ROW_TILES; ++i) {
            softmax.largest[i / 2][i % 2] = -infinity();
            softmax.sum[i / 2][i % 2] = 0;
        }
        auto add_tile = [&](auto adjusting, const T* tile, int first) {
            Scores scores;
            dot_products(scores, rows, tile, 0);
            if constexpr (decltype(adjusting)::SET) {
                if (first + COLUMNS > keys) {
                    cut(scores, keys - first);
                }
                if (NARROW<T> || first < following) {
                    raise(softmax, sums, scores, scale);
                }
            }
            weigh(scores, softmax, scale);
#pragma unroll
            for (int n = 0; n < COLUMNS / 8; n += 2) {
                Kept kept = {0};
                if (DROPOUT) {
                    kept = kept_of_queries(mask, row, first + 8 * n);
                }
                Piece left[ROW_TILES];
                weights_of(left, scores, n, kept);
                add_product(sums, left, tile + TILE, 8 * n);
            }
        };
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
            // Tiles that neither end the keys nor move m have code without branches, in which the compiler mixes
            // products and exponentials.
            if (STRAIGHT && first >= following && first + COLUMNS <= keys) {
                add_tile(Flag<false>(), tile, first);
            } else {
                add_tile(Flag<true>(), tile, first);
            }
        }
        if (following >= keys || !__syncthreads_or(overflows(softmax))) {
            block = read_block_index();
            sample = block.z;
            row = block.x * ROWS + threadIdx.x / WARP * WARP_ROWS;
            finish(out + (sample * queries * heads + block.y) * HEAD_DIM, lse + (sample * heads + block.y) * queries,
                own_tile, sums, softmax, row, queries, heads * HEAD_DIM, DROPOUT ? mask_scale : 1);
            return;
        }
    }
}
