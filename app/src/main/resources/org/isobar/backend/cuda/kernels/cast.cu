// y = x, rounded to the type of y. -DTYPE= is the type of y, -DFROM= the type of x; the two differ.
#include "elementwise.cuh"

extern "C" __global__ void cast(T* y, const FROM* x, long long n) {
    for_each<MIXED_PACK>(n, aligned(y, x), [&](long long i, auto count) {
        float value[decltype(count)::value];
        load(value, x + i);
        store(y + i, value);
    });
}
