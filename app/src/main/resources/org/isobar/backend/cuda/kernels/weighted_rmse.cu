// Root-mean-square error of each channel with the weights of org.isobar.device.LatitudeWeights, w(j) = H cos(a(j)) /
// sum of all cos(a(j)) with a(j) = radians_per_degree (90 - 180 j / (H - 1)), averaged over the samples; all in double.
// Each warp sums one row at a time, each block `rows` rows of a field, and a second kernel sums over the blocks.
//   prediction, target (B, C, H, W) float; rmse (C) double
#include "common.cuh"

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / WARP;

// cos(x) = 1 - 2 sin^2(x / 2) for |x| up to slightly more than pi / 2, by the series of the sine. The library's
// function would need a stack for arguments that do not occur.
__device__ __forceinline__ double cosine(double x) {
    double half = 0.5 * x;
    double square = half * half;
    double sum = 1;
#pragma unroll
    for (int k = 20; k >= 2; k -= 2) { // 1 - square / (2 3) (1 - square / (4 5) (...))
        sum = 1 - square * (1.0 / (k * (k + 1))) * sum;
    }
    double sine = half * sum;
    return 1 - 2 * sine * sine;
}

__device__ __forceinline__ double cosine_of_row(long long row, int height, double radians_per_degree) {
    return cosine(radians_per_degree * (90 - 180.0 * row / (height - 1)));
}

// Blocks: (field, chunk of rows). There may be more fields than the second dimension can have blocks (65535). Rows are
// weighted by their cosine, without normalization.
//   partial (B C, chunks)
extern "C" __global__ void __launch_bounds__(THREADS) sum_weighted_squares(double* partial, const float* prediction,
    const float* target, int height, int width, int rows, double radians_per_degree) {
    long long field = static_cast<long long>(blockIdx.x) * height;
    double sum = 0;
    for (int r = threadIdx.x / WARP; r < rows; r += WARPS) {
        int row = blockIdx.y * rows + r;
        if (row < height) {
            const float* p = prediction + (field + row) * width;
            const float* t = target + (field + row) * width;
            double squares = 0;
#pragma unroll 4
            for (int i = threadIdx.x % WARP; i < width; i += WARP) {
                double difference = static_cast<double>(p[i]) - t[i];
                squares += difference * difference;
            }
            sum += cosine_of_row(row, height, radians_per_degree) * squares;
        }
    }
    sum = block_sum<THREADS>(sum);
    if (threadIdx.x == 0) {
        partial[static_cast<long long>(blockIdx.x) * gridDim.y + blockIdx.y] = sum;
    }
}

// One block per channel.
extern "C" __global__ void __launch_bounds__(THREADS) rmse_of_sums(double* rmse, const double* partial, int batch,
    int chunks, int height, int width, double radians_per_degree) {
    double cosines = 0;
    for (int row = threadIdx.x; row < height; row += THREADS) {
        cosines += cosine_of_row(row, height, radians_per_degree);
    }
    cosines = block_sum<THREADS>(cosines);
    double errors = 0;
    for (int b = threadIdx.x / WARP; b < batch; b += WARPS) {
        const double* sums = partial + (static_cast<long long>(b) * gridDim.x + blockIdx.x) * chunks;
        double sum = 0;
        for (int chunk = threadIdx.x % WARP; chunk < chunks; chunk += WARP) {
            sum += sums[chunk];
        }
        sum = warp_sum(sum);
        errors += threadIdx.x % WARP == 0 ? sqrt(sum / (cosines * width)) : 0; // H of weight and mean cancel
    }
    errors = block_sum<THREADS>(errors);
    if (threadIdx.x == 0) {
        rmse[blockIdx.x] = errors / batch;
    }
}
