// y = value, for elements of two, four and eight bytes, given as their bits. The driver fills with zeros.
#include "elementwise.cuh"

template <typename Word>
__device__ __forceinline__ void fill(Word* y, unsigned long long bits, long long n) {
    constexpr int N = 16 / sizeof(Word);
    for_each<N>(n, aligned(y), [&](long long i, auto count) {
        Pack<Word, decltype(count)::value> pack;
#pragma unroll
        for (int j = 0; j < decltype(count)::value; ++j) {
            pack.at[j] = static_cast<Word>(bits);
        }
        *reinterpret_cast<decltype(pack)*>(y + i) = pack;
    });
}

extern "C" __global__ void fill_2(unsigned short* y, unsigned long long bits, long long n) {
    fill(y, bits, n);
}

extern "C" __global__ void fill_4(unsigned* y, unsigned long long bits, long long n) {
    fill(y, bits, n);
}

extern "C" __global__ void fill_8(unsigned long long* y, unsigned long long bits, long long n) {
    fill(y, bits, n);
}
