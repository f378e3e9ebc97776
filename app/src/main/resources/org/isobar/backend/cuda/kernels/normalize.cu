// y = (x - mean) / std for each channel; y may be x. Blocks: (chunk of a field, sample and channel).
//   y, x (B, C, n); mean, std (C)
#include "elementwise.cuh"

extern "C" __global__ void normalize(float* y, const float* x, const float* mean, const float* std, long long n,
    int channels) {
    long long base = blockIdx.y * n;
    float center = mean[blockIdx.y % channels];
    float deviation = std[blockIdx.y % channels];
    for_each<4>(n, aligned(y + base, x + base), [&](long long i, auto count) {
        constexpr int N = decltype(count)::value;
        float value[N];
        load(value, x + base + i);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            value[j] = (value[j] - center) / deviation;
        }
        store_whole(y + base + i, value);
    });
}
