// y[j, i, :] = x[i, j, :]: rows of bytes move as they are, in words as long as length and addresses allow.
//   x (R, C, K) and y (C, R, K), K counted in words; in the order of y, so that writes are one after the other
#include "elementwise.cuh"

template <typename Word>
__device__ __forceinline__ void transpose_outer(Word* y, const Word* x, long long rows, long long columns,
    long long words) {
    for_each<1>(rows * columns * words, false, [&](long long i, auto) {
        long long place = i / words; // j * rows + i
        long long word = i - place * words;
        long long column = place / rows;
        long long row = place - column * rows;
        y[i] = x[(row * columns + column) * words + word];
    });
}

extern "C" __global__ void transpose_outer_2(unsigned short* y, const unsigned short* x, long long rows,
    long long columns, long long words) {
    transpose_outer(y, x, rows, columns, words);
}

extern "C" __global__ void transpose_outer_4(unsigned* y, const unsigned* x, long long rows, long long columns,
    long long words) {
    transpose_outer(y, x, rows, columns, words);
}

extern "C" __global__ void transpose_outer_16(uint4* y, const uint4* x, long long rows, long long columns,
    long long words) {
    transpose_outer(y, x, rows, columns, words);
}
