// Residual sums: z = x + mask branch with one factor per sample (stochastic depth: Huang et al., 2016), and the
// branch's gradient. x and z are in single precision, branches of type T. Blocks: (chunk of a sample, sample).
#include "elementwise.cuh"
#include "philox.cuh"

// y may be x or branch.
//   y, x, branch (B, n)
extern "C" __global__ void residual(float* y, const float* x, const T* branch, long long n, unsigned long long key,
    unsigned long long stream, unsigned long long start, unsigned long long step, unsigned long long threshold,
    float scale) {
    float factor = sample_factor(blockIdx.y, {key, stream}, start, step, threshold, scale);
    long long base = blockIdx.y * n;
    for_each<MIXED_PACK>(n, aligned(y + base, x + base, branch + base), [&](long long i, auto count) {
        constexpr int N = decltype(count)::value;
        float sum[N];
        float term[N];
        load(sum, x + base + i);
        load(term, branch + base + i);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            sum[j] = fmaf(factor, term[j], sum[j]);
        }
        store(y + base + i, sum);
    });
}

// dBranch = mask dy; in place if both have the same type.
//   dBranch, dy (B, n)
extern "C" __global__ void residual_backward(T* d_branch, const float* dy, long long n, unsigned long long key,
    unsigned long long stream, unsigned long long start, unsigned long long step, unsigned long long threshold,
    float scale) {
    float factor = sample_factor(blockIdx.y, {key, stream}, start, step, threshold, scale);
    long long base = blockIdx.y * n;
    for_each<MIXED_PACK>(n, aligned(d_branch + base, dy + base), [&](long long i, auto count) {
        constexpr int N = decltype(count)::value;
        float gradient[N];
        load(gradient, dy + base + i);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            gradient[j] *= factor;
        }
        store(d_branch + base + i, gradient);
    });
}
