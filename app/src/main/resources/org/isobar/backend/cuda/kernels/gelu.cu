// GELU(x) = x Phi(x), exact, and its derivative Phi(x) + x phi(x), for distribution function Phi and density phi of the
// normal distribution (Hendrycks and Gimpel, 2016). Both take one exponential, for 1 - Phi(x) is phi(x) times Mills'
// ratio; no branch, and the smaller tail does not cancel. All tensors are of type T.
#include "elementwise.cuh"

struct Normal {
    float density;
    float cumulative;
};

// Mills' ratio (1 - Phi(x)) / phi(x) of x >= 0, as org.isobar.backend.cpu.VectorMath has it: q P(q) with
// q = 1 / (1 + 0.35 x) and the polynomial P of degree eight of the smallest greatest relative error.
__device__ __forceinline__ float mills_ratio(float x) {
    float q = 1.0f / fmaf(0.35f, x, 1.0f);
    float p = -0x1.2aee56p-4f;
    p = fmaf(p, q, 0x1.712788p-2f);
    p = fmaf(p, q, -0x1.47c526p-1f);
    p = fmaf(p, q, 0x1.979a64p-2f);
    p = fmaf(p, q, -0x1.d51a82p-5f);
    p = fmaf(p, q, 0x1.0e8548p-2f);
    p = fmaf(p, q, 0x1.33a9aap-2f);
    p = fmaf(p, q, 0x1.66fc12p-2f);
    return fmaf(p, q, 0x1.66610ep-2f) * q;
}

// phi(x) = 2^(-x^2 log2(e) / 2) / sqrt(2 pi).
__device__ __forceinline__ Normal normal(float x) {
    float density = 0.3989423f * exp2_fast(-0.72134752f * x * x);
    float tail = density * mills_ratio(fabsf(x));
    return {density, x < 0 ? tail : 1.0f - tail};
}

extern "C" __global__ void gelu(T* y, const T* x, long long n) {
    for_each<PACK>(n, aligned(y, x), [&](long long i, auto count) {
        float value[decltype(count)::value];
        load(value, x + i);
#pragma unroll
        for (int j = 0; j < decltype(count)::value; ++j) {
            value[j] *= normal(value[j]).cumulative;
        }
        store(y + i, value);
    });
}

// u += bias in place, rounded to T as it is stored; y = GELU(u).
//   y, u (M, N); bias (N)
extern "C" __global__ void bias_gelu(T* y, T* u, const T* bias, long long n, long long columns) {
    bool packs = columns % PACK == 0 && aligned(y, u, bias);
    for_each<PACK>(n, packs, [&](long long i, auto count) {
        constexpr int N = decltype(count)::value;
        float value[N];
        float shift[N];
        load(value, u + i);
        load(shift, bias + i % columns);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            value[j] += shift[j];
        }
        store(u + i, value);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            value[j] = to_float(from_float<T>(value[j]));
            value[j] *= normal(value[j]).cumulative;
        }
        store(y + i, value);
    });
}

// dx = dy (Phi(x) + x phi(x)), y = GELU(x).
extern "C" __global__ void gelu_backward(T* dx, T* y, const T* dy, const T* x, long long n) {
    for_each<PACK>(n, aligned(dx, y, dy, x), [&](long long i, auto count) {
        constexpr int N = decltype(count)::value;
        float value[N];
        float gradient[N];
        load(value, x + i);
        load(gradient, dy + i);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            Normal at = normal(value[j]);
            gradient[j] *= fmaf(value[j], at.density, at.cumulative);
            value[j] *= at.cumulative;
        }
        store(dx + i, gradient);
        store(y + i, value);
    });
}
