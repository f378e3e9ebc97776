// Layer normalization (Ba, Kiros, Hinton, 2016) over rows of C elements, one warp per row:
//   n = (x - mean) invStd, y = n gamma + beta, invStd = 1 / sqrt(var + epsilon), var = mean of (x - mean)^2
//   dx = invStd (g - mean(g) - n mean(g n)) with g = dy gamma; dGamma += sum of dy n, dBeta += sum of dy
// With -DWIDTH=C rows stay in registers, the residual sum may be fused, and backward takes one pass over memory, in
// which it may recompute y.
//   x, dx (M, C) float; y, dy (M, C) T; mean, inv_std (M); gamma, beta (C)
#include "columns.cuh"
#include "philox.cuh"
#include "rows.cuh"

struct Statistics {
    float mean;
    float inv_std;
};

// Two passes, because the difference of two large sums would cancel.
template <int N>
__device__ __forceinline__ Statistics row_statistics(const Row<N, float>& x, int width, float epsilon) {
    float sum = 0;
    for_each_pack<N>(width, [&](int k, int i) {
        float value[N];
        x.get(value, k, i);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            sum += value[j];
        }
    });
    float mean = warp_sum(sum) / width;
    float squares = 0;
    for_each_pack<N>(width, [&](int k, int i) {
        float value[N];
        x.get(value, k, i);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            squares = fmaf(value[j] - mean, value[j] - mean, squares);
        }
    });
    return {mean, 1.0f / sqrtf(warp_sum(squares) / width + epsilon)};
}

template <int N>
__device__ __forceinline__ void write_norm(T* y, const Row<N, float>& x, Statistics statistics, const float* gamma,
    const float* beta, int width) {
    for_each_pack<N>(width, [&](int k, int i) {
        float value[N];
        float scale[N];
        float shift[N];
        x.get(value, k, i);
        load(scale, gamma + i);
        load(shift, beta + i);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            value[j] = fmaf((value[j] - statistics.mean) * statistics.inv_std, scale[j], shift[j]);
        }
        store(y + i, value);
    });
}

__device__ __forceinline__ void write_statistics(float* mean, float* inv_std, long long row, Statistics statistics) {
    if (threadIdx.x % WARP == 0) {
        mean[row] = statistics.mean;
        inv_std[row] = statistics.inv_std;
    }
}

__device__ __forceinline__ long long row_of_warp() {
    return static_cast<long long>(blockIdx.x) * ROW_WARPS + threadIdx.x / WARP;
}

extern "C" __global__ void __launch_bounds__(ROW_THREADS, 1) layer_norm(T* y, float* mean, float* inv_std,
    const float* x, const float* gamma, const float* beta, long long rows, int width, float epsilon) {
    long long row = row_of_warp();
    if (row >= rows) {
        return;
    }
    with_packs(width, aligned(y, x, gamma, beta), [&](auto count) {
        constexpr int N = decltype(count)::value;
        Row<N, float> values(x + row * width);
        Statistics statistics = row_statistics<N>(values, width, epsilon);
        write_statistics(mean, inv_std, row, statistics);
        write_norm<N>(y + row * width, values, statistics, gamma, beta, width);
    });
}

// Recomputes y from known statistics.
extern "C" __global__ void __launch_bounds__(ROW_THREADS, 1) layer_norm_recompute(T* y, const float* x,
    const float* mean, const float* inv_std, const float* gamma, const float* beta, long long rows, int width) {
    long long row = row_of_warp();
    if (row >= rows) {
        return;
    }
    with_packs(width, aligned(y, x, gamma, beta), [&](auto count) {
        constexpr int N = decltype(count)::value;
        Row<N, float> values(x + row * width);
        write_norm<N>(y + row * width, values, {mean[row], inv_std[row]}, gamma, beta, width);
    });
}

struct RowMeans {
    float g;
    float gn;
};

template <int N>
__device__ __forceinline__ RowMeans row_means(const Row<N, T>& dy, const Row<N, float>& x, Statistics statistics,
    const float* gamma, int width) {
    float sum_g = 0;
    float sum_gn = 0;
    for_each_pack<N>(width, [&](int k, int i) {
        float gradient[N];
        float value[N];
        float scale[N];
        dy.get(gradient, k, i);
        x.get(value, k, i);
        load(scale, gamma + i);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            float g = gradient[j] * scale[j];
            sum_g += g;
            sum_gn = fmaf(g, (value[j] - statistics.mean) * statistics.inv_std, sum_gn);
        }
    });
    return {warp_sum(sum_g) / width, warp_sum(sum_gn) / width};
}

// -DADD: dx is added to instead of overwritten. Calls stored(k, i, value) with the result of the lane's k-th pack, from
// element i on.
template <int N, typename Stored>
__device__ __forceinline__ void write_input_gradient(float* dx, const Row<N, T>& dy, const Row<N, float>& x,
    Statistics statistics, RowMeans means, const float* gamma, int width, Stored stored) {
    for_each_pack<N>(width, [&](int k, int i) {
        float result[N] = {};
        float gradient[N];
        float value[N];
        float scale[N];
#ifdef ADD
        load(result, dx + i);
#endif
        dy.get(gradient, k, i);
        x.get(value, k, i);
        load(scale, gamma + i);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            float n = (value[j] - statistics.mean) * statistics.inv_std;
            float g = gradient[j] * scale[j];
            result[j] += statistics.inv_std * fmaf(-n, means.gn, g - means.g);
        }
        store(dx + i, result);
        stored(k, i, result);
    });
}

#ifdef WIDTH

// z = x + mask branch, y = norm(z): layer_norm fused with the residual sum of residual.cu. A sample has `tokens` rows.
// z may be x.
//   z, x (M, C) float; branch (M, C) T
extern "C" __global__ void __launch_bounds__(ROW_THREADS, 1) residual_layer_norm(T* y, float* z, float* mean,
    float* inv_std, const float* x, const T* branch, const float* gamma, const float* beta, long long rows,
    float epsilon, long long tokens, unsigned long long key, unsigned long long stream, unsigned long long start,
    unsigned long long step, unsigned long long threshold, float scale) {
    long long row = row_of_warp();
    if (row >= rows) {
        return;
    }
    float factor = sample_factor(row / tokens, {key, stream}, start, step, threshold, scale);
    Row<ROW_PACK, float> sums;
    for_each_pack<ROW_PACK>(WIDTH, [&](int k, int i) {
        float term[ROW_PACK];
        load(sums.values[k], x + row * WIDTH + i);
        load(term, branch + row * WIDTH + i);
#pragma unroll
        for (int j = 0; j < ROW_PACK; ++j) {
            sums.values[k][j] = fmaf(factor, term[j], sums.values[k][j]);
        }
    });
    for_each_pack<ROW_PACK>(WIDTH, [&](int k, int i) { store(z + row * WIDTH + i, sums.values[k]); });
    Statistics statistics = row_statistics<ROW_PACK>(sums, WIDTH, epsilon);
    write_statistics(mean, inv_std, row, statistics);
    write_norm<ROW_PACK>(y + row * WIDTH, sums, statistics, gamma, beta, WIDTH);
}

// Adds the sums held by the warps of a block, in `partial` (C).
__device__ __forceinline__ void write_partial(float* partial, const float (&sums)[SHARE][ROW_PACK]) {
    __shared__ __align__(16) float of_warps[ROW_WARPS][WIDTH];
    __syncthreads(); // what an earlier call left has been read
    for_each_pack<ROW_PACK>(WIDTH, [&](int k, int i) { store(&of_warps[threadIdx.x / WARP][i], sums[k]); });
    __syncthreads();
    for (int i = threadIdx.x; i < WIDTH; i += ROW_THREADS) {
        float sum = 0;
#pragma unroll
        for (int warp = 0; warp < ROW_WARPS; ++warp) {
            sum += of_warps[warp][i];
        }
        partial[i] = sum;
    }
}

// dx of the block's rows, and the sums of dy n and of dy over them; blocks take rows in strides. branch(row) returns
// what is called with each part of dx. If y is not null, it is recomputed; it may be dy.
//   partial (2, C)
template <typename Branch>
__device__ __forceinline__ void backward_rows(float* dx, float* partial, const T* dy, const float* x,
    const float* mean, const float* inv_std, const float* gamma, long long rows, T* y, const float* beta,
    Branch branch) {
    float d_gamma[SHARE][ROW_PACK] = {};
    float d_beta[SHARE][ROW_PACK] = {};
    for (long long row = row_of_warp(); row < rows; row += static_cast<long long>(gridDim.x) * ROW_WARPS) {
        Row<ROW_PACK, T> gradients(dy + row * WIDTH);
        Row<ROW_PACK, float> values(x + row * WIDTH);
        Statistics statistics = {mean[row], inv_std[row]};
        RowMeans means = row_means<ROW_PACK>(gradients, values, statistics, gamma, WIDTH);
        write_input_gradient<ROW_PACK>(dx + row * WIDTH, gradients, values, statistics, means, gamma, WIDTH,
            branch(row));
        for_each_pack<ROW_PACK>(WIDTH, [&](int k, int) {
#pragma unroll
            for (int j = 0; j < ROW_PACK; ++j) {
                float n = (values.values[k][j] - statistics.mean) * statistics.inv_std;
                d_gamma[k][j] = fmaf(gradients.values[k][j], n, d_gamma[k][j]);
                d_beta[k][j] += gradients.values[k][j];
            }
        });
        if (y != nullptr) {
            write_norm<ROW_PACK>(y + row * WIDTH, values, statistics, gamma, beta, WIDTH);
        }
    }
    write_partial(partial, d_gamma);
    write_partial(partial + WIDTH, d_beta);
}

// Where a block's partial sums of TERMS gradients are, of all (blocks, TERMS, C).
template <int TERMS>
__device__ __forceinline__ float* of_block(float* partial) {
    return partial + static_cast<long long>(blockIdx.x) * TERMS * WIDTH;
}

//   partial (blocks, 2, C)

extern "C" __global__ void __launch_bounds__(ROW_THREADS, 1) layer_norm_backward(float* dx, float* partial, const T* dy,
    const float* x, const float* mean, const float* inv_std, const float* gamma, long long rows, T* y,
    const float* beta) {
    backward_rows(dx, of_block<2>(partial), dy, x, mean, inv_std, gamma, rows, y, beta,
        [](long long) { return [](int, int, const float (&)[ROW_PACK]) {}; });
}

#ifdef ADD

// The same, and in the same pass d_branch = mask dz and its partial sums: layer_norm_backward fused with
// residual_backward of residual.cu and bias_backward of bias.cu. A sample has `tokens` rows.
//   dz, z (M, C) float; d_branch (M, C) T; partial (blocks, 3, C)
extern "C" __global__ void __launch_bounds__(ROW_THREADS, 1) residual_layer_norm_backward(float* dz, T* d_branch,
    float* partial, const T* dy, const float* z, const float* mean, const float* inv_std, const float* gamma,
    long long rows, T* y, const float* beta, long long tokens, unsigned long long key, unsigned long long stream,
    unsigned long long start, unsigned long long step, unsigned long long threshold, float scale) {
    float d_bias[SHARE][ROW_PACK] = {};
    partial = of_block<3>(partial);
    backward_rows(dz, partial, dy, z, mean, inv_std, gamma, rows, y, beta, [&](long long row) {
        float factor = sample_factor(row / tokens, {key, stream}, start, step, threshold, scale);
        return [&d_bias, d_branch, factor, row](int k, int i, const float (&sum)[ROW_PACK]) {
            float gradient[ROW_PACK];
#pragma unroll
            for (int j = 0; j < ROW_PACK; ++j) {
                gradient[j] = to_float(from_float<T>(__fmul_rn(sum[j], factor))); // rounded as it is stored
                d_bias[k][j] += gradient[j];
            }
            store(d_branch + row * WIDTH + i, gradient);
        };
    });
    write_partial(partial + 2 * WIDTH, d_bias);
}

#endif

#else

extern "C" __global__ void __launch_bounds__(ROW_THREADS, 1) layer_norm_backward_input(float* dx, const T* dy,
    const float* x, const float* mean, const float* inv_std, const float* gamma, long long rows, int width) {
    long long row = row_of_warp();
    if (row >= rows) {
        return;
    }
    with_packs(width, aligned(dx, dy, x, gamma), [&](auto count) {
        constexpr int N = decltype(count)::value;
        Row<N, T> gradients(dy + row * width);
        Row<N, float> values(x + row * width);
        Statistics statistics = {mean[row], inv_std[row]};
        RowMeans means = row_means<N>(gradients, values, statistics, gamma, width);
        write_input_gradient<N>(dx + row * width, gradients, values, statistics, means, gamma, width,
            [](int, int, const float (&)[N]) {});
    });
}

// Sums of dy n and of dy over chunks of rows; blocks as in columns.cuh.
//   partial (chunks, 2, C)
extern "C" __global__ void __launch_bounds__(COLUMN_THREADS) layer_norm_backward_weights(float* partial, const T* dy,
    const float* x, const float* mean, const float* inv_std, long long rows, int width, long long chunk) {
    with_packs(width, aligned(dy, x), [&](auto count) {
        constexpr int N = decltype(count)::value;
        column_sums<N, 2>(partial + 2LL * blockIdx.y * width, rows, width, chunk,
            [&](float (&value)[2][N], long long row, long long column) {
                load(value[0], x + row * width + column);
                load(value[1], dy + row * width + column);
#pragma unroll
                for (int j = 0; j < N; ++j) {
                    value[0][j] = value[1][j] * ((value[0][j] - mean[row]) * inv_std[row]);
                }
            });
    });
}

#endif
