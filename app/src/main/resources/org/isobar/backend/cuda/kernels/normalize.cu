// y = (x - mean) / std for each channel; y may be x. Blocks: sample, channel and chunk of a field in one dimension,
// because the other dimensions are limited to 65535 blocks.
//   y, x (B, C, n); mean, std (C)
#include "elementwise.cuh"

extern "C" __global__ void normalize(float* y, const float* x, const float* mean, const float* std, long long n,
    int channels, unsigned chunks) {
    unsigned field = blockIdx.x / chunks;
    long long base = field * n;
    float center = mean[field % channels];
    float deviation = std[field % channels];
    for_each<4>(blockIdx.x % chunks, n, aligned(y + base, x + base), [&](long long i, auto count) {
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
