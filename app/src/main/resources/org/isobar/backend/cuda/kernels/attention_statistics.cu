// Kernels before and after the tiled backward kernels of attention. Before: two statistics for each query. After, if
// the gradient of the queries was summed atomically: conversion of that gradient to its type.
#include "common.cuh"

constexpr float LOG2E = 1.44269504f;
constexpr int CHUNK = 16 / static_cast<int>(sizeof(T));
constexpr int GROUP = 8;  // lanes that share a row
constexpr int THREADS = 256;

// statistics[b, h, i] = (log2(e) lse, sum over channels of dOut out). Rows after the last query become (inf, 0), so
// that their weights are zero. If dq_sums is given, it is set to zero.
extern "C" __global__ void __launch_bounds__(THREADS) attention_statistics(float2* statistics, // (B, H, padded)
    float* dq_sums,     // (B, Tq, H, D), or null
    const T* out,       // (B, Tq, H, D)
    const T* d_out,     // (B, Tq, H, D)
    const float* lse,   // (B, H, Tq)
    int queries, int padded, int heads, int head_dim, long long rows) { // rows = B padded H
    long long row = (static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x) / GROUP; // over (B, padded, H)
    int head = static_cast<int>(row % heads);
    int i = static_cast<int>(row / heads % padded);
    long long sample = row / heads / padded;
    bool present = row < rows && i < queries;
    float delta = 0;
    if (present) {
        long long first = ((sample * queries + i) * heads + head) * head_dim;
        for (int d = threadIdx.x % GROUP * CHUNK; d < head_dim; d += GROUP * CHUNK) {
            float x[CHUNK];
            float y[CHUNK];
            load(x, out + first + d);
            load(y, d_out + first + d);
#pragma unroll
            for (int e = 0; e < CHUNK; ++e) {
                delta = fmaf(x[e], y[e], delta);
            }
#pragma unroll
            for (int e = 0; e < CHUNK && dq_sums != nullptr; e += 4) {
                *reinterpret_cast<float4*>(dq_sums + first + d + e) = make_float4(0, 0, 0, 0);
            }
        }
    }
#pragma unroll
    for (int distance = GROUP / 2; distance > 0; distance /= 2) {
        delta += __shfl_xor_sync(ALL_LANES, delta, distance);
    }
    if (row < rows && threadIdx.x % GROUP == 0) {
        long long scores = sample * heads + head;
        statistics[scores * padded + i] = present
            ? make_float2(lse[scores * queries + i] * LOG2E, delta) : make_float2(infinity(), 0);
    }
}

// dq = scale * sums, in chunks of four.
extern "C" __global__ void __launch_bounds__(THREADS) attention_query_gradient(T* dq, const float* dq_sums, float scale,
    long long chunks) {
    long long i = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
    if (i < chunks) {
        float x[4];
        load(x, dq_sums + 4 * i);
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            x[e] *= scale;
        }
        store(dq + 4 * i, x);
    }
}
