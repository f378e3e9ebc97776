// y = mask x over three dimensions (n / columns / rows, rows, columns) whose element (a, b, c) has the global index
// start + a outer + b inner + c step; both tensors of type T; y may be x.
#include "elementwise.cuh"
#include "philox.cuh"

extern "C" __global__ void dropout(T* y, const T* x, long long n, long long rows, long long columns,
    unsigned long long key, unsigned long long stream, unsigned long long start, unsigned long long outer,
    unsigned long long inner, unsigned long long step, unsigned long long threshold, float scale) {
    bool packs = (columns == n || columns % PACK == 0) && aligned(y, x);
    for_each<PACK>(n, packs, [&](long long i, auto count) {
        constexpr int N = decltype(count)::value;
        unsigned long long index = start;
        long long column = i;
        if (columns < n) {
            long long row = i / columns;
            long long plane = row / rows;
            column = i - row * columns;
            index += plane * outer + (row - plane * rows) * inner;
        }
        float value[N];
        float factor[N];
        load(value, x + i);
        dropout_factors(factor, {key, stream}, index + column * step, step, threshold, scale);
#pragma unroll
        for (int j = 0; j < N; ++j) {
            value[j] = factor[j] == 0 ? 0.0f : value[j] * factor[j];
        }
        store(y + i, value);
    });
}
