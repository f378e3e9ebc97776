// Kernels before and after the tiled backward kernels of attention. Before: two statistics for each query. After, if
// one kernel has summed all gradients: conversion of the gradient of the queries to its type.
#include "common.cuh"

constexpr float LOG2E = 1.44269504f;
constexpr int CHUNK = 16 / static_cast<int>(sizeof(T));
constexpr int GROUP = 8;  // lanes that share a row
constexpr int THREADS = 256;

// statistics[b, h, i] = (log2(e) lse, sum over channels of dOut out). Rows after the last query become (inf, 0), so
// that their weights are zero. Sums that are given are set to zero, and so are the turns of their tiles.
extern "C" __global__ void __launch_bounds__(THREADS) attention_statistics(float2* statistics, // (B, H, padded)
    float* dq_sums,     // (B, H, padded, D) in pieces, or null
    int* turns,         // (turn_count), or null
    const T* out,       // (B, Tq, H, D)
    const T* d_out,     // (B, Tq, H, D)
    const float* lse,   // (B, H, Tq)
    int queries, int padded, int heads, int head_dim,
    long long turn_count, // at most rows
    long long rows) {     // B padded H
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
        }
    }
    if (dq_sums != nullptr && row < rows) {
        for (int d = threadIdx.x % GROUP * 4; d < head_dim; d += GROUP * 4) {
            *reinterpret_cast<float4*>(dq_sums + row * head_dim + d) = make_float4(0, 0, 0, 0);
        }
        if (row < turn_count && threadIdx.x % GROUP == 0) {
            turns[row] = 0;
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

// dq = scale * sums. A thread converts the 8 channels of a query that are neighbours in both.
extern "C" __global__ void __launch_bounds__(THREADS) attention_query_gradient(T* dq, // (B, Tq, H, D)
    const float* dq_sums, // (B, H, padded / 16, D / 8, 16, 8)
    float scale, int queries, int padded, int heads, int head_dim,
    long long chunks) {   // B Tq H D / 8
    long long i = static_cast<long long>(blockIdx.x) * THREADS + threadIdx.x;
    if (i >= chunks) {
        return;
    }
    int pieces = head_dim / 8;
    int piece = static_cast<int>(i % pieces);
    int head = static_cast<int>(i / pieces % heads);
    long long token = i / pieces / heads;
    long long row = (token / queries * heads + head) * padded + token % queries;
    const float* from = dq_sums + row / 16 * 16 * head_dim + piece * 128 + row % 16 * 8;
    constexpr int STORED = CHUNK < 8 ? CHUNK : 8;
#pragma unroll
    for (int part = 0; part < 8; part += STORED) {
        float x[STORED];
#pragma unroll
        for (int e = 0; e < STORED; e += 4) {
            float four[4];
            load(four, from + part + e);
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                x[e + k] = scale * four[k];
            }
        }
        store(dq + 8 * i + part, x);
    }
}
