// Device memory: bounds, initialization, lifetime, alignment, size, and addresses that are not device memory.
#include <algorithm>
#include <vector>

#include "machine.h"
#include "suite.h"

namespace test {
namespace {

constexpr int N = 100;  // elements; two blocks of 64 threads

const std::vector<float> ONES(N, 1.0f);

// The wrong guard lets one thread too many pass: thread 36 of block 1.
void readPastTheEnd(Program program) {
    start();
    void* kernel = compile(R"(
        extern "C" __global__ void twice(float* y, const float* x, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n + BUG) {
                float value = x[i];
                if (i < n) {
                    y[i] = 2 * value;
                }
            }
        })", "twice", program);
    Address y = allocate(N * sizeof(float));
    run(kernel, 2, 64, 0, y, upload(ONES), N);
    check(download<float>(y, N)[N - 1] == 2, "the last element is doubled");
}

void writePastTheEnd(Program program) {
    start();
    void* kernel = compile(R"(
        extern "C" __global__ void fill(float* y, int n) {
            int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n + BUG) {
                y[i] = 1;
            }
        })", "fill", program);
    run(kernel, 2, 64, 0, allocate(N * sizeof(float)), N);
}

void writeBeforeTheStart(Program program) {
    start();
    void* kernel = compile(R"(
        extern "C" __global__ void fill(float* y) { y[static_cast<int>(threadIdx.x) - BUG] = 1; })", "fill", program);
    run(kernel, 1, 64, 0, allocate(64 * sizeof(float)));
}

void readOfNothing(Program program) {
    start();
    void* kernel = compile(R"(
        extern "C" __global__ void sum(float* y, const float* x) { y[threadIdx.x] += x[threadIdx.x]; })", "sum");
    Address y = program == WRONG ? allocate(N * sizeof(float)) : upload(ONES);
    run(kernel, 1, 64, 0, y, upload(ONES));
}

void useAfterFree(Program program) {
    start();
    void* kernel = compile(R"(
        extern "C" __global__ void fill(float* y) { y[threadIdx.x] = 1; })", "fill");
    Address y = allocate(64 * sizeof(float));
    if (program == WRONG) {
        need(cuMemFree_v2(y), "cuMemFree");
    }
    run(kernel, 1, 64, 0, y);
    if (program == RIGHT) {
        need(cuMemFree_v2(y), "cuMemFree");
    }
}

void hostPointer(Program program) {
    start();
    void* kernel = compile(R"(
        extern "C" __global__ void fill(float* y) { y[threadIdx.x] = 1; })", "fill");
    std::vector<float> host(64);
    Address y = program == WRONG ? reinterpret_cast<Address>(host.data()) : allocate(64 * sizeof(float));
    run(kernel, 1, 64, 0, y);
}

void hostPointerInACopy(Program program) {
    start();
    std::vector<float> host(64);
    Address y = program == WRONG ? reinterpret_cast<Address>(host.data()) : allocate(64 * sizeof(float));
    need(cuMemcpyHtoD_v2(y, ONES.data(), 64 * sizeof(float)), "cuMemcpyHtoD");
}

void misaligned(Program program) {
    start();
    void* kernel = compile(R"(
        extern "C" __global__ void copy(float* y, const float* x) {
            int i = 4 * threadIdx.x;
            *reinterpret_cast<float4*>(y + i) = *reinterpret_cast<const float4*>(x + i + BUG);
        })", "copy", program);
    run(kernel, 1, 16, 0, allocate(64 * sizeof(float)), upload(ONES));
}

void racingBlocks(Program program) {
    start();
    void* kernel = compile(R"(
        extern "C" __global__ void count(int* y) {
            if (BUG) {
                *y = *y + 1;
            } else {
                atomicAdd(y, 1);
            }
        })", "count", program);
    Address y = upload(std::vector<int>{0});
    run(kernel, 4, 1, 0, y);
    check(download<int>(y, 1)[0] == 4, "four blocks count to four");
}

void tooMuch(Program program) {
    start();
    Address first = allocate(600 << 10);
    if (program == RIGHT) {
        need(cuMemFree_v2(first), "cuMemFree");
    }
    allocate(600 << 10);
}

void freedTwice(Program program) {
    start();
    Address y = allocate(64);
    need(cuMemFree_v2(y), "cuMemFree");
    if (program == WRONG) {
        need(cuMemFree_v2(y), "cuMemFree");
    }
}

void readBackOfNothing(Program program) {
    start();
    Address y = allocate(N * sizeof(float));
    if (program == RIGHT) {
        need(cuMemsetD32Async(y, 0, N, nullptr), "cuMemsetD32Async");
    }
    download<float>(y, N);
}

// After an error of the device, every later call returns that error.
void errorsLast() {
    start();
    void* kernel = compile(R"(extern "C" __global__ void fill(float* y) { y[threadIdx.x] = 1; })", "fill");
    need(launch(kernel, 1, 64, 0, nullptr, allocate(63 * sizeof(float))), "cuLaunchKernel");
    check(cuCtxSynchronize() != 0, "the launch fails");
    need(launch(kernel, 1, 32, 0, nullptr, Address{0}), "the next launch");
}

void pinnedMemoryFreedEarly(Program program) {
    start();
    void* slot = nullptr;
    need(cuMemHostAlloc(&slot, 256, 0), "cuMemHostAlloc");
    std::fill_n(static_cast<char*>(slot), 256, 1);
    need(cuMemcpyHtoDAsync_v2(allocate(256), slot, 256, nullptr), "cuMemcpyHtoDAsync");
    if (program == RIGHT) {
        finish();
    }
    need(cuMemFreeHost(slot), "cuMemFreeHost");
}

}  // namespace

void addMemory(Suite& suite) {
    suite.planted("read past the end by one element", {"kernel twice", "block (1, 0, 0), thread (36, 0, 0)",
        "reads 4 bytes out of bounds", "byte 400 of an allocation of 400 bytes"}, readPastTheEnd);
    suite.planted("write past the end by one element", {"kernel fill", "block (1, 0, 0), thread (36, 0, 0)",
        "writes 4 bytes out of bounds", "byte 400 of an allocation of 400 bytes"}, writePastTheEnd);
    suite.planted("write before the start by one element", {"kernel fill", "block (0, 0, 0), thread (0, 0, 0)",
        "writes 4 bytes out of bounds", "byte -4 of an allocation of 256 bytes"}, writeBeforeTheStart);
    suite.planted("read of memory that nothing wrote", {"kernel sum", "block (0, 0, 0), thread (0, 0, 0)",
        "reads byte 0", "which nothing wrote"}, readOfNothing);
    suite.planted("copy to the host of memory that nothing wrote", {"copy to host", "which nothing wrote"},
        readBackOfNothing);
    suite.planted("use after free", {"kernel fill", "thread (0, 0, 0)", "of a freed allocation"}, useAfterFree);
    suite.planted("memory freed twice", {"cuMemFree", "freed what is no allocation"}, freedTwice);
    suite.planted("host pointer passed to a kernel", {"kernel fill", "thread (0, 0, 0)", "a host pointer?"},
        hostPointer);
    suite.planted("host pointer as a copy's target", {"cuMemcpyHtoD", "a host pointer?"}, hostPointerInACopy);
    suite.planted("misaligned access of 16 bytes", {"kernel copy", "thread (0, 0, 0)", "misaligned access", "16 bytes"},
        misaligned);
    suite.planted("race of two blocks", {"kernel count", ", 0, 0), thread (0, 0, 0), ", "race",
        "which block (", ", 0, 0), thread (0, 0, 0) touched"}, racingBlocks);
    suite.caught("the error of a device lasts", {"the next launch", "kernel fill", "thread (63, 0, 0)"}, errorsLast);
    suite.planted("pinned memory freed while it is copied", {"cuMemFreeHost", "copy to device", "still uses it"},
        pinnedMemoryFreedEarly);
    suite.caught("an allocation that the environment makes fail", {"cuMemAlloc", "out of memory"},
        [] { tooMuch(RIGHT); }, {{"ISOBAR_SIM_FAIL", "alloc:2"}});
    suite.planted("more than the memory", {"cuMemAlloc", "out of memory: 614400 bytes asked for", "free of 1048576"},
        tooMuch, {{"ISOBAR_SIM_MEMORY", "1M"}});
}

}  // namespace test
