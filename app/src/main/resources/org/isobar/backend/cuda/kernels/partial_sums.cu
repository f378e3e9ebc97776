// The second half of sums over rows: adds the partial sums of `chunks` chunks to one gradient, or to two or three whose
// partial sums lie side by side. Each block takes as many columns as a warp has lanes; its warps take every 32nd chunk.
//   first, second, third (width): as many as columns / width; partial (chunks, columns)
#include "common.cuh"

constexpr int WARPS = 32;
constexpr int THREADS = WARP * WARPS;

extern "C" __global__ void __launch_bounds__(THREADS) add_partial_sums(float* first, float* second,
    float* third, const float* partial, long long width, long long columns, int chunks) {
    __shared__ float of_warps[WARPS][WARP];
    int warp = threadIdx.x / WARP;
    int lane = threadIdx.x % WARP;
    long long column = static_cast<long long>(blockIdx.x) * WARP + lane;
    float sum = 0;
    if (column < columns) {
#pragma unroll 8
        for (int chunk = warp; chunk < chunks; chunk += WARPS) {
            sum += partial[chunk * columns + column];
        }
    }
    of_warps[warp][lane] = sum;
    __syncthreads();
    if (warp == 0 && column < columns) {
        float total = 0;
#pragma unroll
        for (int w = 0; w < WARPS; ++w) {
            total += of_warps[w][lane];
        }
        float* gradient = column < width ? first : column < 2 * width ? second : third;
        gradient[column % width] += total;
    }
}
