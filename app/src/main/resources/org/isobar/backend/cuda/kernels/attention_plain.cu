// Attention for heads of any size, without tiles or tensor cores. A warp owns one query, or one key, and iterates over
// the others, 32 at a time. Each lane computes the score of one. Then the lanes divide the channels, and each sums its
// channels over the 32. Rows and sums are in shared memory, so the number of channels is not limited by
// registers:
//
//     operands: two rows (D)     sums: two rows (D)     weights (32), slopes (32)     for each warp, single precision
//
// Correct but slow; heads of 32, 48, 64, 80, 96 and 128 channels have tiled kernels. The formulas are those of
// attention_forward.cu, attention_backward_queries.cu and attention_backward_keys.cu.
#include "common.cuh"
#include "philox.cuh"

constexpr int THREADS = 4 * WARP; // at most: blocks have fewer where the shared memory of the device has no room

#define EXTENTS long long rows, int queries, int keys, int heads, int head_dim, float scale
// Element (b, h, i, j) of the mask is element origin + b * sample + h * head + i * query + j * key of the whole mask.
// The threshold is 0 without dropout.
#define MASK \
    unsigned long long mask_bits, unsigned long long mask_stream, unsigned long long mask_origin, \
    unsigned long long mask_sample, unsigned long long mask_head, unsigned long long mask_query, \
    unsigned long long mask_key, unsigned long long mask_threshold, float mask_scale
#define MASK_FACTOR(b, h, i, j) \
    (mask_threshold == 0 ? 1.0f : dropout_factor({mask_bits, mask_stream}, mask_origin + (b) * mask_sample \
        + (h) * mask_head + (i) * mask_query + (j) * mask_key, mask_threshold, mask_scale))

__device__ __forceinline__ int lane() { return threadIdx.x % WARP; }

__device__ __forceinline__ long long row_of_warp() {
    return static_cast<long long>(blockIdx.x) * (blockDim.x / WARP) + threadIdx.x / WARP;
}

// A warp's part of shared memory.
struct Own {
    float* row[2];
    float* sum[2];
    float* weights;
    float* slopes;
    int head_dim;

    __device__ Own(float* shared, int head_dim) : head_dim(head_dim) {
        float* mine = shared + threadIdx.x / WARP * (4 * head_dim + 2 * WARP);
        for (int i = 0; i < 2; ++i) {
            row[i] = mine + i * head_dim;
            sum[i] = mine + (2 + i) * head_dim;
        }
        weights = mine + 4 * head_dim;
        slopes = weights + WARP;
    }

    __device__ void load(const T* first, const T* second) {
        for (int d = lane(); d < head_dim; d += WARP) {
            row[0][d] = to_float(first[d]);
            row[1][d] = to_float(second[d]);
            sum[0][d] = 0;
            sum[1][d] = 0;
        }
        __syncwarp();
    }

    __device__ float dot(int which, const T* other) const {
        float product = 0;
        for (int d = 0; d < head_dim; ++d) {
            product = fmaf(row[which][d], to_float(other[d]), product);
        }
        return product;
    }

    // sum = factor * sum + factors (count) times rows (count, D).
    __device__ void add(int which, float factor, const float* factors, const T* rows, long long stride, int count) {
        for (int d = lane(); d < head_dim; d += WARP) {
            float x = factor * sum[which][d];
            for (int i = 0; i < count; ++i) {
                x = fmaf(factors[i], to_float(rows[i * stride + d]), x);
            }
            sum[which][d] = x;
        }
    }

    __device__ void store(T* to, int which, float factor) const {
        for (int d = lane(); d < head_dim; d += WARP) {
            to[d] = from_float<T>(factor * sum[which][d]);
        }
    }
};

// The sample, head and token of row `row` of (B, H, tokens), and where its head begins in q and in kv.
struct Place {
    long long token;
    long long head;
    long long sample;
    long long query_stride;
    long long key_stride;
    long long query;  // of token 0
    long long key;    // of token 0; its value lies query_stride behind

    __device__ Place(long long row, int tokens, int queries, int keys, int heads, int head_dim)
        : token(row % tokens), head(row / tokens % heads), sample(row / tokens / heads),
          query_stride(static_cast<long long>(heads) * head_dim), key_stride(2 * query_stride),
          query((sample * queries * heads + head) * head_dim), key((sample * keys * 2 * heads + head) * head_dim) { }
};

__device__ __forceinline__ float warp_max(float x) {
#pragma unroll
    for (int distance = WARP / 2; distance > 0; distance /= 2) {
        x = fmaxf(x, __shfl_xor_sync(ALL_LANES, x, distance));
    }
    return x;
}

extern "C" __global__ void __launch_bounds__(THREADS) attention_plain(T* out, float* lse, const T* q, const T* kv,
    EXTENTS, MASK) {
    DYNAMIC_SHARED(float, shared);
    Own own(shared, head_dim);
    long long row = row_of_warp(); // over (B, H, Tq)
    if (row >= rows) {
        return;
    }
    Place at(row, queries, queries, keys, heads, head_dim);
    const T* key = kv + at.key;
    const T* value = key + at.query_stride;
    long long mine = at.query + at.token * at.query_stride;
    own.load(q + mine, q + mine);
    float largest = -infinity();
    float sum = 0;
    for (int first = 0; first < keys; first += WARP) {
        int j = first + lane();
        float score = j < keys ? scale * own.dot(0, key + j * at.key_stride) : -infinity();
        float raised = fmaxf(largest, warp_max(score));
        float factor = expf(largest - raised);
        float weight = expf(score - raised);
        sum = sum * factor + warp_sum(weight);
        own.weights[lane()] = weight * MASK_FACTOR(at.sample, at.head, at.token, j);
        __syncwarp();
        own.add(0, factor, own.weights, value + first * at.key_stride, at.key_stride, min(WARP, keys - first));
        __syncwarp();
        largest = raised;
    }
    own.store(out + mine, 0, 1 / sum);
    if (lane() == 0) {
        lse[row] = largest + logf(sum);
    }
}

// dq, and delta = sum over channels of dOut out.
extern "C" __global__ void __launch_bounds__(THREADS) attention_plain_queries(T* dq, float* delta, const T* d_out,
    const T* q, const T* kv, const T* out, const float* lse, EXTENTS, MASK) {
    DYNAMIC_SHARED(float, shared);
    Own own(shared, head_dim);
    long long row = row_of_warp(); // over (B, H, Tq)
    if (row >= rows) {
        return;
    }
    Place at(row, queries, queries, keys, heads, head_dim);
    const T* key = kv + at.key;
    const T* value = key + at.query_stride;
    long long mine = at.query + at.token * at.query_stride;
    own.load(q + mine, d_out + mine);
    float mean = own.dot(1, out + mine);
    if (lane() == 0) {
        delta[row] = mean;
    }
    for (int first = 0; first < keys; first += WARP) {
        int j = first + lane();
        if (j < keys) {
            float p = expf(scale * own.dot(0, key + j * at.key_stride) - lse[row]);
            float dp = own.dot(1, value + j * at.key_stride) * MASK_FACTOR(at.sample, at.head, at.token, j);
            own.slopes[lane()] = p * (dp - mean);
        }
        __syncwarp();
        own.add(0, 1, own.slopes, key + first * at.key_stride, at.key_stride, min(WARP, keys - first));
        __syncwarp();
    }
    own.store(dq + mine, 0, scale);
}

// dk and dv.
extern "C" __global__ void __launch_bounds__(THREADS) attention_plain_keys(T* dkv, const float* delta,
    const T* d_out, const T* q, const T* kv, const float* lse, EXTENTS, MASK) {
    DYNAMIC_SHARED(float, shared);
    Own own(shared, head_dim);
    long long row = row_of_warp(); // over (B, H, Tk)
    if (row >= rows) {
        return;
    }
    Place at(row, keys, queries, keys, heads, head_dim);
    const T* query = q + at.query;
    const T* gradient = d_out + at.query;
    long long mine = at.key + at.token * at.key_stride;
    long long statistics = (at.sample * heads + at.head) * queries;
    own.load(kv + mine, kv + mine + at.query_stride);
    for (int first = 0; first < queries; first += WARP) {
        int i = first + lane();
        if (i < queries) {
            float factor = MASK_FACTOR(at.sample, at.head, i, at.token);
            float p = expf(scale * own.dot(0, query + i * at.query_stride) - lse[statistics + i]);
            float dp = own.dot(1, gradient + i * at.query_stride) * factor;
            own.weights[lane()] = p * factor;
            own.slopes[lane()] = p * (dp - delta[statistics + i]);
        }
        __syncwarp();
        int count = min(WARP, queries - first);
        own.add(0, 1, own.slopes, query + first * at.query_stride, at.query_stride, count);
        own.add(1, 1, own.weights, gradient + first * at.query_stride, at.query_stride, count);
        __syncwarp();
    }
    own.store(dkv + mine, 0, scale);
    own.store(dkv + mine + at.query_stride, 1, 1);
}
