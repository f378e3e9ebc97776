// The gradient of a bias, first half: partial sums over rows of dy.
//   partial (chunks, N); dy (M, N), of type T
#include "columns.cuh"

extern "C" __global__ void __launch_bounds__(COLUMN_THREADS) bias_backward(float* partial, const T* dy, long long rows,
    long long width, long long chunk) {
    constexpr int PACK = 16 / sizeof(T);
    float* sums = partial + blockIdx.y * width;
    if (width % PACK == 0 && aligned(dy)) {
        column_sums<PACK, 1>(sums, rows, width, chunk, [&](float (&value)[1][PACK], long long row, long long column) {
            load(value[0], dy + row * width + column);
        });
    } else {
        column_sums<1, 1>(sums, rows, width, chunk, [&](float (&value)[1][1], long long row, long long column) {
            load(value[0], dy + row * width + column);
        });
    }
}
