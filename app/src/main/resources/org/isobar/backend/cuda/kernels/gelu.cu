// GELU(x) = x Phi(x), exact, and its derivative Phi(x) + x phi(x), for distribution function Phi and density phi of the
// normal distribution (Hendrycks and Gimpel, 2016). Both use one exponential, because 1 - Phi(x) is phi(x) times Mills'
// ratio. There is no branch, and the smaller tail does not cancel. All tensors are of type T.
#include "columns.cuh"
#include "elementwise.cuh"

struct Normal {
    float density;
    float cumulative;
};

// Mills' ratio (1 - Phi(x)) / phi(x) for x >= 0, as in org.isobar.backend.cpu.vector.VectorMath: q P(q) with
// q = 1 / (1 + 0.35 x) and the minimax polynomial P of degree eight (smallest maximum relative error).
__device__ __forceinline__ float mills_ratio(float x) {
    float q = reciprocal_fast(fmaf(0.35f, x, 1.0f));
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

// gradient *= GELU'(value), rounded to T as it is stored; value = GELU(value).
template <int N>
__device__ __forceinline__ void differentiate(float (&gradient)[N], float (&value)[N]) {
#pragma unroll
    for (int j = 0; j < N; ++j) {
        Normal at = normal(value[j]);
        // __fmul_rn rounds before the product is added to a sum; a plain product might become a fused multiply-add.
        gradient[j] = to_float(from_float<T>(__fmul_rn(gradient[j], fmaf(value[j], at.density, at.cumulative))));
        value[j] *= at.cumulative;
    }
}

// dx = dy GELU'(x), y = GELU(x). dx may be dy, and y may be x.
extern "C" __global__ void gelu_backward(T* dx, T* y, const T* dy, const T* x, long long n) {
    for_each<PACK>(n, aligned(dx, y, dy, x), [&](long long i, auto count) {
        float value[decltype(count)::value];
        float gradient[decltype(count)::value];
        load(value, x + i);
        load(gradient, dy + i);
        differentiate(gradient, value);
        store(dx + i, gradient);
        store(y + i, value);
    });
}

// dx = dy GELU'(x), y = GELU(x), and in the same pass the first half of the gradient of the bias that x includes:
// partial sums over rows of dx, bit for bit as in bias.cu. dx may be dy, and y may be x.
// The bound of two blocks per multiprocessor is needed: by default ptxas makes room for three on sm_100, and spills.
//   partial (chunks, N); dx, y, dy, x (M, N)
extern "C" __global__ void __launch_bounds__(COLUMN_THREADS, 2) bias_gelu_backward(float* partial, T* dx, T* y,
    const T* dy, const T* x, long long rows, long long width, long long chunk) {
    float* sums = partial + blockIdx.y * width;
    auto terms = [&](auto& term, long long row, long long column) {
        float value[sizeof(term[0]) / sizeof(float)];
        long long i = row * width + column;
        load(value, x + i);
        load(term[0], dy + i);
        differentiate(term[0], value);
        store_whole(dx + i, term[0]);
        store_whole(y + i, value);
    };
    if (width % PACK == 0 && aligned(dx, y, dy, x)) {
        column_sums<PACK, 1>(sums, rows, width, chunk, terms);
    } else {
        column_sums<1, 1>(sums, rows, width, chunk, terms);
    }
}
