// Adam without weight decay over a flat range (Kingma and Ba, 2015), in the roundings of PyTorch:
//   m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; p -= lr / (1 - b1^t) m / (sqrt(v) / sqrt(1 - b2^t) + epsilon)
// with g = part gradient. Factors are computed in double, once per block, from numbers in device memory. `part` and
// epsilon are read from constant memory, because there are no registers left. After an overflow nothing changes.
// With -DCOPY the parameters are also written in the type that products read.
//   parameter, gradient, moment1, moment2 (n) float; copy (n) T;
//   control (7) double, an org.isobar.device.ops.StepControl
#include "elementwise.cuh"

constexpr int LEARNING_RATE = 0;
constexpr int COUNT = 1;
constexpr int OVERFLOW = 2;

struct Factors {
    float beta1;
    float share1;
    float beta2;
    float share2;
    float step; // negative
    float root; // sqrt(1 - b2^t)
};

template <int N>
__device__ __forceinline__ void update(float* parameter, T* copy, const float* gradient, float* moment1,
    float* moment2, const Factors& f, float part, float epsilon) {
    float p[N];
    float g[N];
    float m[N];
    float v[N];
    load(p, parameter);
    load(g, gradient);
    load(m, moment1);
    load(v, moment2);
#pragma unroll
    for (int j = 0; j < N; ++j) {
        g[j] *= part;
        m[j] = fmaf(f.share1, g[j], f.beta1 * m[j]);
        v[j] = fmaf(f.share2 * g[j], g[j], f.beta2 * v[j]);
        p[j] += f.step * m[j] / (sqrtf(v[j]) / f.root + epsilon);
    }
    store(moment1, m);
    store(moment2, v);
    store(parameter, p);
#ifdef COPY
    store(copy, p);
#endif
}

// Five blocks per multiprocessor: on some devices six would almost fit, but would spill a few registers.
extern "C" __global__ void __launch_bounds__(THREADS, 5) adam(float* parameter, T* copy, const float* gradient,
    float* moment1, float* moment2, const double* control, long long n, double beta1, double beta2, float epsilon,
    float part) {
    if (control[OVERFLOW] != 0) {
        return;
    }
    __shared__ Factors factors;
    if (threadIdx.x == 0) {
        factors = {static_cast<float>(beta1), static_cast<float>(1 - beta1), static_cast<float>(beta2),
            static_cast<float>(1 - beta2),
            static_cast<float>(-control[LEARNING_RATE] / (1 - pow(beta1, control[COUNT]))),
            static_cast<float>(sqrt(1 - pow(beta2, control[COUNT])))};
    }
    __syncthreads();
    Factors f = factors;
    bool packs = aligned(parameter, copy, gradient, moment1, moment2);
    for (long long chunk = blockIdx.x; chunk * CHUNK < n; chunk += gridDim.x) {
        for_each<4>(chunk, n, packs, [&](long long i, auto size) {
            update<decltype(size)::value>(parameter + i, copy + i, gradient + i, moment1 + i, moment2 + i, f,
                part, epsilon);
        });
    }
}
