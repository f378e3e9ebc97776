// What attention's backward kernels share: before them, two numbers for each query; after them, where they added up the
// gradient of the queries atomically, that gradient in its type.
#include "common.cuh"

constexpr float LOG2E = 1.44269504f;
constexpr int CHUNK = 16 / static_cast<int>(sizeof(T));
constexpr int GROUP = 8;  // lanes that share a row

struct Chunk { T element[CHUNK]; };

__device__ __forceinline__ Chunk load_chunk(const T* from) {
    Chunk chunk;
    *reinterpret_cast<uint4*>(&chunk) = *reinterpret_cast<const uint4*>(from);
    return chunk;
}

// statistics[b, h, i] = (log2(e) lse, sum over channels of dOut out); rows behind the last query become (inf, 0), so that
// no weight comes of them. With dq_sums, that is set to zero.
extern "C" __global__ void __launch_bounds__(256) attention_statistics(float2* statistics, // (B, H, padded)
    float* dq_sums,     // (B, Tq, H, D), or null
    const T* out,       // (B, Tq, H, D)
    const T* d_out,     // (B, Tq, H, D)
    const float* lse,   // (B, H, Tq)
    int queries, int padded, int heads, int head_dim, long long rows) { // rows = B padded H
    long long row = (static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x) / GROUP; // over (B, padded, H)
    int head = static_cast<int>(row % heads);
    int i = static_cast<int>(row / heads % padded);
    long long sample = row / heads / padded;
    bool present = row < rows && i < queries;
    float delta = 0;
    if (present) {
        long long first = ((sample * queries + i) * heads + head) * head_dim;
        for (int d = threadIdx.x % GROUP * CHUNK; d < head_dim; d += GROUP * CHUNK) {
            Chunk x = load_chunk(out + first + d);
            Chunk y = load_chunk(d_out + first + d);
#pragma unroll
            for (int e = 0; e < CHUNK; ++e) {
                delta = fmaf(to_float(x.element[e]), to_float(y.element[e]), delta);
                if (e % 4 == 0 && dq_sums != nullptr) {
                    *reinterpret_cast<float4*>(dq_sums + first + d + e) = make_float4(0, 0, 0, 0);
                }
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
            ? make_float2(lse[scores * queries + i] * LOG2E, delta) : make_float2(__builtin_huge_valf(), 0);
    }
}

// dq = scale * sums.
extern "C" __global__ void __launch_bounds__(256) attention_query_gradient(T* dq, const float* dq_sums, float scale,
    long long chunks) {
    long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < chunks) {
        Chunk chunk;
#pragma unroll
        for (int e = 0; e < CHUNK; e += 4) {
            float4 sum = *reinterpret_cast<const float4*>(dq_sums + i * CHUNK + e);
            chunk.element[e] = from_float<T>(scale * sum.x);
            chunk.element[e + 1] = from_float<T>(scale * sum.y);
            chunk.element[e + 2] = from_float<T>(scale * sum.z);
            chunk.element[e + 3] = from_float<T>(scale * sum.w);
        }
        *reinterpret_cast<uint4*>(dq + i * CHUNK) = *reinterpret_cast<const uint4*>(&chunk);
    }
}
