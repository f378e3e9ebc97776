// Matrix products of attention: operand fragments from tiles in shared memory, or from sums already in registers.
//
// A warp's sums are pieces of 16 x 8. Lane 4 g + t holds columns 2t and 2t + 1 of row g and of row g + 8:
//
//     column     0 1     2 3     4 5     6 7
//     row g     [t=0]   [t=1]   [t=2]   [t=3]    sum[0], sum[1]
//     row g+8   [t=0]   [t=1]   [t=2]   [t=3]    sum[2], sum[3]
//
// Two neighbouring pieces, rounded to 16 bits and packed, form the left operand (16 x 16) of the next product, so
// probabilities stay in registers. TF32 takes left operands of 16 x 8, with columns t and t + 4 in lane t. The terms of
// a sum may be numbered in any order that both operands share. Columns 2t and 2t + 1 are therefore used as t and t + 4,
// and the right operand's rows are read in that order.
//
// A step of a product is 32 bytes of a row: STEP = 16 elements of 16 bits, or 8 of 32. ldmatrix treats both alike.
#pragma once

#include "attention_tiles.cuh"

constexpr int STEP = 2 * CHUNK;
constexpr int HEAD_STEPS = HEAD_DIM / STEP;
constexpr int PIECE_STEPS = 16 / STEP;  // over 16 tokens

using Sum = float[4];

__device__ __forceinline__ int lane() { return threadIdx.x % WARP; }
__device__ __forceinline__ int lane_row() { return lane() / 4; }         // g
__device__ __forceinline__ int lane_column() { return lane() % 4 * 2; }  // 2t

// ---- sum += left right for each type ----

__device__ __forceinline__ void multiply(half_t, Sum& sum, const unsigned (&a)[4], unsigned b0, unsigned b1) {
    const unsigned b[2] = {b0, b1};
    mma_16816_half(sum, a, b);
}

__device__ __forceinline__ void multiply(bf16_t, Sum& sum, const unsigned (&a)[4], unsigned b0, unsigned b1) {
    const unsigned b[2] = {b0, b1};
    mma_16816_bf16(sum, a, b);
}

#ifdef FULL
// Single precision without tensor cores: equal fragment layouts; each lane fetches its operands from other lanes.
__device__ __forceinline__ void multiply(float, Sum& sum, const unsigned (&a)[4], unsigned b0, unsigned b1) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll 1  // or the shuffles of many products are under way at once, and their results take too many registers
        for (int k = 0; k < 4; ++k) {
            int left = (lane() & ~3) + k;
            int right = lane_column() * 4 + k;
            float upper = __uint_as_float(__shfl_sync(ALL_LANES, a[2 * half], left));
            float lower = __uint_as_float(__shfl_sync(ALL_LANES, a[2 * half + 1], left));
            float even = __uint_as_float(__shfl_sync(ALL_LANES, half == 0 ? b0 : b1, right));
            float odd = __uint_as_float(__shfl_sync(ALL_LANES, half == 0 ? b0 : b1, right + 4));
            sum[0] = fmaf(upper, even, sum[0]);
            sum[1] = fmaf(upper, odd, sum[1]);
            sum[2] = fmaf(lower, even, sum[2]);
            sum[3] = fmaf(lower, odd, sum[3]);
        }
    }
}

__device__ __forceinline__ unsigned rounded(unsigned bits) { return bits; }
#else
__device__ __forceinline__ void multiply(float, Sum& sum, const unsigned (&a)[4], unsigned b0, unsigned b1) {
    const unsigned b[2] = {b0, b1};
    mma_1688_tf32(sum, a, b);
}

__device__ __forceinline__ unsigned rounded(unsigned bits) { return float_to_tf32(__uint_as_float(bits)); }
#endif

__device__ __forceinline__ unsigned pack(half_t, float low, float high) { return pack_half2(low, high); }
__device__ __forceinline__ unsigned pack(bf16_t, float low, float high) { return pack_bf162(low, high); }

// ---- fragments; C is the number of chunks in a row of the tile ----

template <typename Element>
struct Fragments {  // of 16 bits
    // (16, STEP): rows from `row` on, as left operand.
    template <int C>
    static __device__ __forceinline__ void left(unsigned (&a)[4], const Element* tile, int row, int step) {
        ldmatrix_x4(a, tile + place<C>(row + lane() % 16, 2 * step + lane() / 16));
    }

    // The transpose of 16 rows from `row` on and of 16 columns from `column` on, as left operand of one step.
    template <int C>
    static __device__ __forceinline__ void left_transposed(unsigned (&a)[PIECE_STEPS][4], const Element* tile, int row,
        int column) {
        ldmatrix_x4_trans(a[0], tile + place<C>(row + lane() % 8 + lane() / 16 * 8, column / 8 + lane() / 8 % 2));
    }

    // The transpose of (16, STEP), 16 rows from `row` on: right operands of two pieces.
    template <int C>
    static __device__ __forceinline__ void right_transposed(unsigned (&b)[4], const Element* tile, int row, int step) {
        ldmatrix_x4(b, tile + place<C>(row + lane() % 8 + lane() / 16 * 8, 2 * step + lane() / 8 % 2));
    }

    // (STEP, 16), 16 columns from `column` on: right operands of two pieces.
    template <int C>
    static __device__ __forceinline__ void right(unsigned (&b)[4], const Element* tile, int row, int column) {
        ldmatrix_x4_trans(b, tile + place<C>(row + lane() % 16, column / 8 + lane() / 16));
    }

    // Two pieces of sums as left operand; their columns are its 16 terms.
    static __device__ __forceinline__ void left_of_sums(unsigned (&a)[PIECE_STEPS][4], const Sum (&sums)[2]) {
        a[0][0] = pack(Element(), sums[0][0], sums[0][1]);
        a[0][1] = pack(Element(), sums[0][2], sums[0][3]);
        a[0][2] = pack(Element(), sums[1][0], sums[1][1]);
        a[0][3] = pack(Element(), sums[1][2], sums[1][3]);
    }

    // Stores two neighbours of a row at an even column.
    static __device__ __forceinline__ void write_pair(Element* to, float low, float high) {
        *reinterpret_cast<unsigned*>(to) = pack(Element(), low, high);
    }
};

template <>
struct Fragments<float> {
    template <int C>
    static __device__ __forceinline__ void left(unsigned (&a)[4], const float* tile, int row, int step) {
        ldmatrix_x4(a, tile + place<C>(row + lane() % 16, 2 * step + lane() / 16));
        round(a);
    }

    template <int C>
    static __device__ __forceinline__ void left_transposed(unsigned (&a)[PIECE_STEPS][4], const float* tile, int row,
        int column) {
#pragma unroll
        for (int step = 0; step < PIECE_STEPS; ++step) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                a[step][i] = element<C>(tile, row + 8 * step + lane_column() + i / 2, column + lane_row() + i % 2 * 8);
            }
        }
    }

    template <int C>
    static __device__ __forceinline__ void right_transposed(unsigned (&b)[4], const float* tile, int row, int step) {
        ldmatrix_x4(b, tile + place<C>(row + lane() % 8 + lane() / 16 * 8, 2 * step + lane() / 8 % 2));
        round(b);
    }

    template <int C>
    static __device__ __forceinline__ void right(unsigned (&b)[4], const float* tile, int row, int column) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            b[i] = element<C>(tile, row + lane_column() + i % 2, column + lane_row() + i / 2 * 8);
        }
    }

    static __device__ __forceinline__ void left_of_sums(unsigned (&a)[PIECE_STEPS][4], const Sum (&sums)[2]) {
#pragma unroll
        for (int step = 0; step < PIECE_STEPS; ++step) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                a[step][i] = rounded(__float_as_uint(sums[step][i % 2 * 2 + i / 2]));
            }
        }
    }

    static __device__ __forceinline__ void write_pair(float* to, float low, float high) {
        *reinterpret_cast<float2*>(to) = make_float2(low, high);
    }

private:
    static __device__ __forceinline__ void round(unsigned (&x)[4]) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            x[i] = rounded(x[i]);
        }
    }

    template <int C>
    static __device__ __forceinline__ unsigned element(const float* tile, int row, int column) {
        return rounded(__float_as_uint(tile[place<C>(row, column / 4) + column % 4]));
    }
};

// ---- products of a warp's rows ----

// A warp's own WARP_ROWS rows of a tile (rows, HEAD_DIM), as left operand: kept in registers, or read when needed.
template <bool IN_REGISTERS>
struct OwnRows {
    unsigned fragments[HEAD_STEPS][ROW_TILES][4];

    __device__ __forceinline__ OwnRows(const T* tile, int row) {
#pragma unroll
        for (int step = 0; step < HEAD_STEPS; ++step) {
#pragma unroll
            for (int r = 0; r < ROW_TILES; ++r) {
                Fragments<T>::template left<HEAD_CHUNKS>(fragments[step][r], tile, row + 16 * r, step);
            }
        }
    }

    __device__ __forceinline__ void step(unsigned (&a)[ROW_TILES][4], int step) const {
#pragma unroll
        for (int i = 0; i < 4 * ROW_TILES; ++i) {
            a[i / 4][i % 4] = fragments[step][i / 4][i % 4];
        }
    }
};

template <>
struct OwnRows<false> {
    const T* tile;
    int row;

    __device__ __forceinline__ OwnRows(const T* tile, int row) : tile(tile), row(row) { }

    __device__ __forceinline__ void step(unsigned (&a)[ROW_TILES][4], int step) const {
#pragma unroll
        for (int r = 0; r < ROW_TILES; ++r) {
            Fragments<T>::template left<HEAD_CHUNKS>(a[r], tile, row + 16 * r, step);
        }
    }
};

// sums (WARP_ROWS, 8 N) = own rows . rows of a tile, from `row` on.
template <int N, bool IN_REGISTERS>
__device__ __forceinline__ void dot_products(Sum (&sums)[ROW_TILES][N], const OwnRows<IN_REGISTERS>& own,
    const T* tile, int row) {
#pragma unroll
    for (int i = 0; i < ROW_TILES * N * 4; ++i) {
        sums[i / 4 / N][i / 4 % N][i % 4] = 0;
    }
    constexpr int UNROLLED = IN_REGISTERS || HEAD_STEPS < 8 ? HEAD_STEPS : 32 / HEAD_STEPS;  // for registers
#pragma unroll UNROLLED
    for (int step = 0; step < HEAD_STEPS; ++step) {
        unsigned a[ROW_TILES][4];
        own.step(a, step);
#pragma unroll
        for (int n = 0; n < N; n += 2) {
            unsigned b[4];
            Fragments<T>::template right_transposed<HEAD_CHUNKS>(b, tile, row + 8 * n, step);
#pragma unroll
            for (int r = 0; r < ROW_TILES; ++r) {
                multiply(T(), sums[r][n], a[r], b[0], b[1]);
                multiply(T(), sums[r][n + 1], a[r], b[2], b[3]);
            }
        }
    }
}

using Piece = unsigned[PIECE_STEPS][4];  // 16 rows, 16 terms
using RowSums = Sum[ROW_TILES][HEAD_DIM / 8];

// sums (WARP_ROWS, HEAD_DIM) += left (WARP_ROWS, 16) times 16 rows of a tile, from `row` on.
__device__ __forceinline__ void add_product(RowSums& sums, const Piece (&left)[ROW_TILES], const T* tile, int row) {
#pragma unroll
    for (int step = 0; step < PIECE_STEPS; ++step) {
#pragma unroll
        for (int n = 0; n < HEAD_DIM / 8; n += 2) {
            unsigned b[4];
            Fragments<T>::template right<HEAD_CHUNKS>(b, tile, row + STEP * step, 8 * n);
#pragma unroll
            for (int r = 0; r < ROW_TILES; ++r) {
                multiply(T(), sums[r][n], left[r][step], b[0], b[1]);
                multiply(T(), sums[r][n + 1], left[r][step], b[2], b[3]);
            }
        }
    }
}

__device__ __forceinline__ void clear(RowSums& sums) {
#pragma unroll
    for (int i = 0; i < ROW_TILES * HEAD_DIM / 2; ++i) {
        sums[i / (HEAD_DIM / 2)][i / 4 % (HEAD_DIM / 8)][i % 4] = 0;
    }
}

// Rounded sums (WARP_ROWS, 16) as left operand.
__device__ __forceinline__ void left_of(Piece (&left)[ROW_TILES], const Sum (&sums)[ROW_TILES][2]) {
#pragma unroll
    for (int r = 0; r < ROW_TILES; ++r) {
        Fragments<T>::left_of_sums(left[r], sums[r]);
    }
}

// Rounds a warp's sums, times a factor for each of rows g and g + 8, into its own rows of a tile.
__device__ __forceinline__ void store_sums(T* tile, int row, const RowSums& sums, const float (&factor)[ROW_TILES][2]) {
#pragma unroll
    for (int r = 0; r < ROW_TILES; ++r) {
#pragma unroll
        for (int i = 0; i < HEAD_DIM / 4; ++i) {
            int column = i / 2 * 8 + lane_column();
            int half = i % 2;
            const Sum& sum = sums[r][i / 2];
            T* to = tile + place<HEAD_CHUNKS>(row + 16 * r + 8 * half + lane_row(), column / CHUNK) + column % CHUNK;
            Fragments<T>::write_pair(to, factor[r][half] * sum[2 * half], factor[r][half] * sum[2 * half + 1]);
        }
    }
}

// Rounds a warp's sums, times one factor for all rows, into its own rows of a tile.
__device__ __forceinline__ void store_sums(T* tile, int row, const RowSums& sums, float factor) {
    float factors[ROW_TILES][2];
#pragma unroll
    for (int i = 0; i < 2 * ROW_TILES; ++i) {
        factors[i / 2][i % 2] = factor;
    }
    store_sums(tile, row, sums, factors);
}
