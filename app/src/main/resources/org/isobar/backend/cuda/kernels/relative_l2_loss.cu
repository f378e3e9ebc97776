// loss = mean over samples of ||prediction - target|| / ||target||, and its gradient. Differences are taken and squares
// summed in double, in chunks of a fixed size, then over the chunks.
// The B samples are a part of the M samples of a step, from sample `first` on.
//   prediction, target, d_prediction (B, n) float; norms (M, 2) double: of the difference and of the target
#include "elementwise.cuh"

constexpr int NORM_CHUNK = 16384; // elements of a sample that a block sums
constexpr int NORM_WARPS = 32;
constexpr int NORM_THREADS = WARP * NORM_WARPS;

// Adds the squares of N neighbours.
template <int N>
__device__ __forceinline__ void add_squares(double& distance, double& size, const float* prediction,
    const float* target) {
    float p[N];
    float t[N];
    load(p, prediction);
    load(t, target);
#pragma unroll
    for (int j = 0; j < N; ++j) {
        double difference = static_cast<double>(p[j]) - t[j];
        distance += difference * difference;
        size += static_cast<double>(t[j]) * t[j];
    }
}

// Blocks: (chunk, sample).
//   partial (B, chunks, 2)
extern "C" __global__ void __launch_bounds__(THREADS) sum_squares(double* partial, const float* prediction,
    const float* target, long long n) {
    const float* p = prediction + blockIdx.y * n;
    const float* t = target + blockIdx.y * n;
    long long first = static_cast<long long>(blockIdx.x) * NORM_CHUNK;
    double distance = 0;
    double size = 0;
    if (aligned(p, t) && first + NORM_CHUNK <= n) {
#pragma unroll 4
        for (int i = threadIdx.x * 4; i < NORM_CHUNK; i += THREADS * 4) {
            add_squares<4>(distance, size, p + first + i, t + first + i);
        }
    } else {
        long long end = first + NORM_CHUNK < n ? first + NORM_CHUNK : n;
        for (long long i = first + threadIdx.x; i < end; i += THREADS) {
            add_squares<1>(distance, size, p + i, t + i);
        }
    }
    distance = block_sum<THREADS>(distance);
    size = block_sum<THREADS>(size);
    if (threadIdx.x == 0) {
        double* sums = partial + 2 * (static_cast<long long>(blockIdx.y) * gridDim.x + blockIdx.x);
        sums[0] = distance;
        sums[1] = size;
    }
}

// One block; one warp per sample. The loss is the mean over the samples before `first` and these.
extern "C" __global__ void __launch_bounds__(NORM_THREADS) loss_of_squares(double* loss, double* norms,
    const double* partial, int first, int batch, int chunks) {
    for (int b = threadIdx.x / WARP; b < batch; b += NORM_WARPS) {
        const double* sums = partial + 2LL * b * chunks;
        double distance = 0;
        double size = 0;
        for (int chunk = threadIdx.x % WARP; chunk < chunks; chunk += WARP) {
            distance += sums[2 * chunk];
            size += sums[2 * chunk + 1];
        }
        distance = sqrt(warp_sum(distance));
        size = sqrt(warp_sum(size));
        if (threadIdx.x % WARP == 0) {
            norms[2 * (first + b)] = distance;
            norms[2 * (first + b) + 1] = size;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        double sum = 0;
        for (int b = 0; b < first + batch; ++b) {
            sum += norms[2 * b] / norms[2 * b + 1];
        }
        *loss = sum / (first + batch);
    }
}

// d_prediction = scale / M (prediction - target) / (||prediction - target|| ||target||), zero if the two are equal;
// d_prediction may be prediction. Blocks: (chunk of CHUNK elements, sample).
//   scale (1) double
extern "C" __global__ void __launch_bounds__(THREADS) relative_l2_loss_backward(float* d_prediction,
    const float* prediction, const float* target, const double* norms, const double* scale, long long n, int first,
    int samples) {
    __shared__ float of_sample;
    if (threadIdx.x == 0) {
        double distance = norms[2 * (first + blockIdx.y)];
        double size = norms[2 * (first + blockIdx.y) + 1];
        of_sample = distance == 0 ? 0.0f : static_cast<float>(*scale / samples / (distance * size));
    }
    __syncthreads();
    float factor = of_sample;
    long long base = blockIdx.y * n;
    bool packs = aligned(d_prediction + base, prediction + base, target + base);
    for_each<4>(n, packs, [&](long long i, auto count) {
        constexpr int N = decltype(count)::value;
        float gradient[N];
        float t[N];
        load(gradient, prediction + base + i);
        load(t, target + base + i);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            gradient[j] = factor * (gradient[j] - t[j]);
        }
        store(d_prediction + base + i, gradient);
    });
}
