// Kernels that are right give right results: sums, shuffles, shared memory, matrix products, background copies.
#include <cmath>
#include <cstdint>
#include <cstring>

#include "machine.h"

namespace {

void vectorAdd() {
    void* kernel = compile(R"(
        extern "C" __global__ void add(float* __restrict__ z, const float* x, const float* y, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) {
                z[i] = x[i] + y[i];
            }
        })", "add");
    constexpr int N = 1000;
    std::vector<float> x(N), y(N);
    for (int i = 0; i < N; ++i) {
        x[i] = 0.5f * i;
        y[i] = 100 - i;
    }
    Address dx = upload(x), dy = upload(y), dz = 0;
    need(cuMemAlloc_v2(&dz, N * sizeof(float)), "cuMemAlloc");
    need(launch(kernel, 4, 256, 0, nullptr, dz, dx, dy, N), "cuLaunchKernel");
    auto z = download<float>(dz, N);
    bool same = true;
    for (int i = 0; i < N; ++i) {
        same = same && z[i] == x[i] + y[i];
    }
    check(same, "vector add");
}

void blockSum() {
    void* kernel = compile(R"(
        #include "ptx.cuh"
        extern "C" __global__ void __launch_bounds__(128) sum(double* out, const T* x, int n) {
            __shared__ double parts[4];
            double s = 0;
            for (int i = threadIdx.x; i < n; i += blockDim.x) {
                s += x[i];
            }
            #pragma unroll
            for (int d = 16; d > 0; d /= 2) {
                s += __shfl_xor_sync(0xffffffffu, s, d);
            }
            if (threadIdx.x % 32 == 0) {
                parts[threadIdx.x / 32] = s;
            }
            __syncthreads();
            if (threadIdx.x == 0) {
                atomicAdd(out, parts[0] + parts[1] + parts[2] + parts[3]);
            }
        })", "sum");
    std::vector<float> x(777);
    double expected = 0;
    for (size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<float>(i % 10);
        expected += 3 * x[i];
    }
    Address dx = upload(x), out = upload(std::vector<double>{0.0});
    need(launch(kernel, 3, 128, 0, nullptr, out, dx, 777), "cuLaunchKernel");
    check(download<double>(out, 1)[0] == expected, "sum of a block by shuffles and shared memory");
}

float tf32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    bits = (bits + 0x1000u) & 0xffffe000u;
    memcpy(&x, &bits, 4);
    return x;
}

// One warp: c (16, 8) = a (16, 16) b (16, 8), fragments through ldmatrix from shared memory that cp_async fills.
void product() {
    void* kernel = compile(R"(
        #include "ptx.cuh"
        extern "C" __global__ void product(float* c, const bf16_t* a, const bf16_t* b) {  // b is (16, 8) row-major
            DYNAMIC_SHARED(bf16_t, tile);  // a (16, 16), then b (16, 8)
            int lane = threadIdx.x;
            cp_async_16(tile + lane * 8, a + lane * 8, true);
            if (lane < 16) {
                cp_async_16(tile + 256 + lane * 8, b + lane * 8, true);
            }
            cp_async_commit();
            cp_async_wait<0>();
            __syncthreads();
            unsigned fa[4], fb[4];
            ldmatrix_x4(fa, tile + (lane % 16) * 16 + lane / 16 * 8);
            ldmatrix_x4_trans(fb, tile + 256 + (lane % 16) * 8);
            unsigned first[2] = {fb[0], fb[1]};
            float d[4] = {0, 0, 0, 0};
            mma_16816_bf16(d, fa, first);
            for (int i = 0; i < 4; ++i) {
                c[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = d[i];
            }
        })", "product");
    std::vector<uint16_t> a(256), b(128);
    auto value = [](uint16_t bits) {
        uint32_t wide = static_cast<uint32_t>(bits) << 16;
        float x;
        memcpy(&x, &wide, 4);
        return x;
    };
    auto bits = [](int i) {
        float x = static_cast<float>(i % 13 - 6) / 4;
        uint32_t wide;
        memcpy(&wide, &x, 4);
        return static_cast<uint16_t>(wide >> 16);
    };
    for (int i = 0; i < 256; ++i) {
        a[i] = bits(i * 7);
    }
    for (int i = 0; i < 128; ++i) {
        b[i] = bits(i * 5 + 3);
    }
    Address da = upload(a), db = upload(b), dc = 0;
    need(cuMemAlloc_v2(&dc, 128 * sizeof(float)), "cuMemAlloc");
    need(launch(kernel, 1, 32, 768, nullptr, dc, da, db), "cuLaunchKernel");
    auto c = download<float>(dc, 128);
    bool same = true;
    for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 8; ++j) {
            float expected = 0;
            for (int k = 0; k < 16; ++k) {
                expected += value(a[i * 16 + k]) * value(b[k * 8 + j]);
            }
            same = same && c[i * 8 + j] == expected;
        }
    }
    check(same, "bf16 product of a warp against a loop");
}

void tf32Product() {
    void* kernel = compile(R"(
        #include "ptx.cuh"
        extern "C" __global__ void product(float* c, const float* a, const float* b) {
            int g = threadIdx.x / 4, t = threadIdx.x % 4;
            unsigned fa[4], fb[2];
            for (int i = 0; i < 4; ++i) {
                fa[i] = float_to_tf32(a[(g + i % 2 * 8) * 8 + t + i / 2 * 4]);
            }
            for (int i = 0; i < 2; ++i) {
                fb[i] = float_to_tf32(b[(t + i * 4) * 8 + g]);
            }
            float d[4] = {1, 1, 1, 1};
            mma_1688_tf32(d, fa, fb);
            for (int i = 0; i < 4; ++i) {
                c[(g + i / 2 * 8) * 8 + t * 2 + i % 2] = d[i];
            }
        })", "product");
    std::vector<float> a(128), b(64);
    for (int i = 0; i < 128; ++i) {
        a[i] = std::sin(0.3f * i);
    }
    for (int i = 0; i < 64; ++i) {
        b[i] = std::cos(0.7f * i);
    }
    Address da = upload(a), db = upload(b), dc = 0;
    need(cuMemAlloc_v2(&dc, 128 * sizeof(float)), "cuMemAlloc");
    need(launch(kernel, 1, 32, 0, nullptr, dc, da, db), "cuLaunchKernel");
    auto c = download<float>(dc, 128);
    bool same = true;
    for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 8; ++j) {
            float expected = 1;
            for (int k = 0; k < 8; ++k) {
                expected += tf32(a[i * 8 + k]) * tf32(b[k * 8 + j]);
            }
            same = same && c[i * 8 + j] == expected;
        }
    }
    check(same, "TF32 product of a warp against a loop");
}

// Every half there is goes to float and back to itself; halves of neighbours round to even.
void conversions() {
    void* kernel = compile(R"(
        #include "ptx.cuh"
        extern "C" __global__ void convert(half_t* back, float* wide, const half_t* x, half_t* between) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            wide[i] = half_to_float(x[i]);
            back[i] = float_to_half(half_to_float(x[i]));
            between[i] = float_to_half((half_to_float(x[i]) + half_to_float(half_t{(unsigned short)(x[i].bits + 1)})) / 2);
        })", "convert");
    std::vector<uint16_t> x(1 << 15);
    for (size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<uint16_t>(i);
    }
    Address dx = upload(x), back = 0, wide = 0, between = 0;
    need(cuMemAlloc_v2(&back, x.size() * 2), "cuMemAlloc");
    need(cuMemAlloc_v2(&wide, x.size() * 4), "cuMemAlloc");
    need(cuMemAlloc_v2(&between, x.size() * 2), "cuMemAlloc");
    need(launch(kernel, 128, 256, 0, nullptr, back, wide, dx, between), "cuLaunchKernel");
    auto b = download<uint16_t>(back, x.size());
    auto w = download<float>(wide, x.size());
    auto m = download<uint16_t>(between, x.size());
    bool same = true;
    for (uint16_t i = 0; i < 0x7c00; ++i) {
        same = same && b[i] == i && m[i] == (i % 2 == 0 || i == 0x7bff ? i + (i == 0x7bff) : i + 1);
    }
    check(same && w[0x3c00] == 1 && w[1] == 0x1p-24f && std::isinf(w[0x7c00]) && b[0x7e00] == 0x7fff,
        "conversions of half precision");
}

}  // namespace

int main() {
    start();
    vectorAdd();
    blockSum();
    product();
    tf32Product();
    conversions();
    return 0;
}
