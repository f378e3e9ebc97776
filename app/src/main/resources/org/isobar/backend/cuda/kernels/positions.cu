// y = x + positions, the same for each sample; and the gradient, summed over the samples in order.
#include "elementwise.cuh"

// Blocks: (chunk of a sample, sample). y may be x.
//   y, x (B, n); positions (n)
extern "C" __global__ void add_positions(float* y, const float* x, const float* positions, long long n) {
    long long base = blockIdx.y * n;
    for_each<4>(n, aligned(y + base, x + base, positions), [&](long long i, auto count) {
        constexpr int N = decltype(count)::value;
        float sum[N];
        float term[N];
        load(sum, x + base + i);
        load(term, positions + i);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            sum[j] += term[j];
        }
        store(y + base + i, sum);
    });
}

// dPositions += sum over samples of dy.
//   dPositions (n); dy (B, n)
extern "C" __global__ void add_positions_backward(float* d_positions, const float* dy, long long n, int batch) {
    for_each<4>(n, n % 4 == 0 && aligned(d_positions, dy), [&](long long i, auto count) {
        constexpr int N = decltype(count)::value;
        float sum[N] = {};
#pragma unroll 4
        for (int b = 0; b < batch; ++b) {
            float term[N];
            load(term, dy + b * n + i);
#pragma unroll
            for (int j = 0; j < N; ++j) {
                sum[j] += term[j];
            }
        }
        float before[N];
        load(before, d_positions + i);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            sum[j] += before[j];
        }
        store(d_positions + i, sum);
    });
}
