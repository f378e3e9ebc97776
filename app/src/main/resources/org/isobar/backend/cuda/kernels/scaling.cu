// The loss scale (Micikevicius et al., 2018): gradients are divided by it and checked for overflow, then the scale is
// updated. No value passes through the host.
#include "elementwise.cuh"

// gradient *= 1 / (scale divisor); overflow becomes 1 if an element is then not finite. An overflow usually affects
// very many elements, so each block writes `overflow` at most once.
//   gradient (n); overflow (1), scale (1) double
extern "C" __global__ void unscale(float* gradient, double* overflow, const double* scale, double divisor,
    long long n) {
    float factor = static_cast<float>(1 / (*scale * divisor));
    bool finite = true;
    for_each<4>(n, aligned(gradient), [&](long long i, auto count) {
        constexpr int N = decltype(count)::value;
        float value[N];
        load(value, gradient + i);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            value[j] *= factor;
            finite = finite && fabsf(value[j]) <= LARGEST;
        }
        store(gradient + i, value);
    });
    if (__syncthreads_or(!finite) && threadIdx.x == 0) {
        atomicExch(reinterpret_cast<unsigned long long*>(overflow), __double_as_longlong(1.0));
    }
}

// The values of org.isobar.device.ops.StepControl.
struct StepControl {
    double learning_rate;
    double count;
    double overflow;
    double scale;
    double good_steps;
    double skipped;
    double halt;
};

constexpr double ARMED = 0;
constexpr double HALTED = 1;

// One thread. A loss that is not finite halts an armed control: no later step changes anything. The scale does not grow
// beyond the range of single precision, the type of gradients.
extern "C" __global__ void advance(StepControl* control, const double* loss, double growth, double backoff,
    double interval) {
    StepControl next = *control;
    if (!isfinite(*loss)) {
        next.halt = next.halt == ARMED ? HALTED : next.halt;
        next.overflow = 1;
    }
    if (next.halt == HALTED) {
        next.overflow = 1;
    } else if (next.overflow != 0) {
        next.scale *= backoff;
        next.good_steps = 0;
        next.skipped += 1;
    } else {
        next.count += 1;
        next.good_steps += 1;
        if (next.good_steps >= interval) {
            double grown = next.scale * growth;
            next.scale = static_cast<float>(grown) <= LARGEST ? grown : next.scale;
            next.good_steps = 0;
        }
    }
    *control = next;
}
