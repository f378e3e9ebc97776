// Results of correct kernels, compared with plain loops.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "gemm.h"
#include "machine.h"
#include "suite.h"

namespace test {
namespace {

void blockSum() {
    start();
    void* kernel = compile(R"(
        extern "C" __global__ void sum(double* out, unsigned* largest, const float* x, int n) {
            __shared__ double parts[4];
            double s = 0;
            for (int i = threadIdx.x; i < n; i += blockDim.x) {
                s += x[i];
                atomicMax(largest, static_cast<unsigned>(x[i]));
            }
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
    Address out = upload(std::vector<double>{0.0});
    Address largest = upload(std::vector<unsigned>{0});
    run(kernel, 3, 128, 0, out, largest, upload(x), 777);
    check(download<double>(out, 1)[0] == expected, "three blocks add their sums");
    check(download<unsigned>(largest, 1)[0] == 9, "the largest is found");
}

void shuffles() {
    start();
    void* kernel = compile(R"(
        extern "C" __global__ void shuffle(int* y) {
            int lane = threadIdx.x;
            y[lane] = __shfl_sync(0xffffffffu, lane, 5);
            y[32 + lane] = __shfl_up_sync(0xffffffffu, lane, 3);
            y[64 + lane] = __shfl_down_sync(0xffffffffu, lane, 3, 8);
            y[96 + lane] = __ballot_sync(0xffffffffu, lane % 3 == 0);
            y[128 + lane] = __any_sync(0xffffffffu, lane == 31) + 2 * __all_sync(0xffffffffu, lane < 31);
        })", "shuffle");
    Address y = allocate(160 * sizeof(int));
    run(kernel, 1, 32, 0, y);
    auto got = download<int>(y, 160);
    for (int lane = 0; lane < 32; ++lane) {
        check(got[lane] == 5, "from one lane");
        check(got[32 + lane] == (lane < 3 ? lane : lane - 3), "from below");
        check(got[64 + lane] == (lane % 8 < 5 ? lane + 3 : lane), "from above, within eight");
        check(got[96 + lane] == 0x49249249, "ballot");
        check(got[128 + lane] == 1, "any, not all");
    }
}

// One warp: c (16, 8) = a (16, 16) b (16, 8), fragments by ldmatrix from shared memory that cp.async fills.
void tensorCores(Type type) {
    start();
    std::string kind = type == F16 ? "half" : "bf16";
    void* kernel = compile(R"(
        #include "ptx.cuh"
        extern "C" __global__ void product(float* c, const bf16_t* a, const bf16_t* b) {  // b row by row
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
            mma_16816_)" + kind + R"((d, fa, first);
            for (int i = 0; i < 4; ++i) {
                c[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = d[i];
            }
        })", "product");
    std::vector<uint16_t> a(256);
    std::vector<uint16_t> b(128);
    // Small multiples of a quarter: exact in both types, and so are their sums in single precision.
    auto value = [](int i) { return static_cast<float>(i % 13 - 6) / 4; };
    auto bits = [&](int i) { return narrowBits(value(i), type); };
    for (int i = 0; i < 256; ++i) {
        a[i] = bits(i * 7);
    }
    for (int i = 0; i < 128; ++i) {
        b[i] = bits(i * 5 + 3);
    }
    Address c = allocate(128 * sizeof(float));
    run(kernel, 1, 32, 768, c, upload(a), upload(b));
    auto got = download<float>(c, 128);
    for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 8; ++j) {
            float expected = 0;
            for (int k = 0; k < 16; ++k) {
                expected += value((i * 16 + k) * 7) * value((k * 8 + j) * 5 + 3);
            }
            check(got[i * 8 + j] == expected, "the product is that of the plain loops");
        }
    }
}

float roundedToTf32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits = (bits + 0x1000u) & 0xffffe000u;
    memcpy(&x, &bits, sizeof x);
    return x;
}

void tensorCoresTf32() {
    start();
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
    std::vector<float> a = elements(128, 1);
    std::vector<float> b = elements(64, 2);
    Address c = allocate(128 * sizeof(float));
    run(kernel, 1, 32, 0, c, upload(a), upload(b));
    auto got = download<float>(c, 128);
    for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 8; ++j) {
            double expected = 1;
            for (int k = 0; k < 8; ++k) {
                expected += static_cast<double>(roundedToTf32(a[i * 8 + k])) * roundedToTf32(b[k * 8 + j]);
            }
            check(std::fabs(got[i * 8 + j] - expected) <= 9 * 9 * 0x1p-24, "the product is that of the plain loops");
        }
    }
}

// Every number of a type converts to single precision and back unchanged. Midpoints round to even.
void conversions(const std::string& type, const std::string& name, uint16_t infinity) {
    start();
    void* kernel = compile("#include \"ptx.cuh\"\nusing N = " + type + "; __device__ float wide(N x) { return " + name
        + "_to_float(x); } __device__ N narrow(float x) { return float_to_" + name + "(x); }" + R"(
        extern "C" __global__ void convert(N* back, N* between, const N* x) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            back[i] = narrow(wide(x[i]));
            between[i] = narrow(wide(x[i]) / 2 + wide(N{static_cast<unsigned short>(x[i].bits + 1)}) / 2);
        })", "convert");
    std::vector<uint16_t> x(1 << 15);
    for (size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<uint16_t>(i);
    }
    Address back = allocate(x.size() * 2);
    Address between = allocate(x.size() * 2);
    run(kernel, 128, 256, 0, back, between, upload(x));
    auto same = download<uint16_t>(back, x.size());
    auto even = download<uint16_t>(between, x.size());
    for (uint16_t i = 0; i + 1 < infinity; ++i) {
        check(same[i] == i, "there and back");
        check(even[i] == (i + 1) / 2 * 2, "ties go to even");
    }
    check(same[infinity] == infinity, "infinity stays");
    check(same[infinity + 1] == 0x7fff, "what is no number becomes the device's");
}

// Correct uses that no check may refuse: threads that end early, warps that work by themselves, atomics in
// shared memory, blocks of two dimensions, parameters that are structures, accesses of several widths.
void usualWays() {
    start();
    void* kernel = compile(R"(
        struct Table { int* counts; const float4* x; int n; };
        extern "C" __global__ void histogram(Table table) {
            __shared__ int counts[4];
            int thread = threadIdx.y * blockDim.x + threadIdx.x;
            if (thread < 4) {
                counts[thread] = 0;
            }
            __syncthreads();
            if (thread < table.n) {
                float4 x = table.x[thread];
                const float* first = reinterpret_cast<const float*>(table.x + thread);
                atomicAdd(&counts[static_cast<int>(x.x + x.w) % 4], first[0] == x.x ? 1 : 100);
            }
            __syncthreads();
            if (thread >= 32) {
                return;
            }
            int total = thread < 4 ? counts[thread] : 0;
            total += __shfl_xor_sync(0xffffffffu, total, 1);
            if (thread < 4) {
                table.counts[thread] = total;
            }
        })", "histogram");
    constexpr int N = 50;
    std::vector<float> x(4 * N);
    std::vector<int> counts(4);
    for (int i = 0; i < N; ++i) {
        x[4 * i] = static_cast<float>(i);
        x[4 * i + 3] = 1;
        ++counts[(i + 1) % 4];
    }
    struct Table { Address counts; Address x; int n; } table = {allocate(4 * sizeof(int)), upload(x), N};
    void* parameters[] = {&table};
    need(cuLaunchKernel(kernel, 1, 1, 1, 16, 4, 1, 0, nullptr, parameters, nullptr), "cuLaunchKernel");
    auto got = download<int>(table.counts, 4);
    for (int i = 0; i < 4; ++i) {
        check(got[i] == counts[i] + counts[i ^ 1], "the pairs' counts");
    }
}

// The blocks of a grid count how many have finished; the last one adds the results of all.
void lastBlock() {
    start();
    void* kernel = compile(R"(
        extern "C" __global__ void sum(float* total, float* parts, unsigned* done) {
            __shared__ bool last;
            if (threadIdx.x == 0) {
                parts[blockIdx.x] = blockIdx.x;
                __threadfence();
                last = atomicAdd(done, 1u) == gridDim.x - 1;
            }
            __syncthreads();
            if (last && threadIdx.x == 0) {
                __threadfence();
                float s = 0;
                for (int i = 0; i < gridDim.x; ++i) {
                    s += parts[i];
                }
                *total = s;
            }
        })", "sum");
    Address total = allocate(sizeof(float));
    run(kernel, 10, 32, 0, total, allocate(10 * sizeof(float)), upload(std::vector<unsigned>{0}));
    check(download<float>(total, 1)[0] == 45, "the last block sees what all have written");
}

}  // namespace

void addResults(Suite& suite) {
    suite.clean("sum of a block by shuffles, shared memory and atomics", blockSum);
    suite.clean("shuffles and votes", shuffles);
    suite.clean("what kernels usually do", usualWays);
    suite.clean("the last block adds up", lastBlock);
    suite.clean("cp.async, ldmatrix and mma: bf16", [] { tensorCores(BF16); });
    suite.clean("cp.async, ldmatrix and mma: fp16", [] { tensorCores(F16); });
    suite.clean("mma: TF32", tensorCoresTf32);
    suite.clean("conversions: fp16", [] { conversions("half_t", "half", 0x7c00); });
    suite.clean("conversions: bf16", [] { conversions("bf16_t", "bf16", 0x7f80); });
}

}  // namespace test
