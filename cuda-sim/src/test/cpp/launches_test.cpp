// Launches: their limits, parameters and barriers.
#include <vector>

#include "machine.h"
#include "suite.h"

namespace test {
namespace {

constexpr const char* FILL = R"(
    extern "C" __global__ void __launch_bounds__(128) fill(float* y) {
        y[blockIdx.x * blockDim.x + threadIdx.x] = 1;
    })";

void tooManyThreads(Program program) {
    start();
    void* kernel = compile(R"(extern "C" __global__ void fill(float* y) { y[threadIdx.x] = 1; })", "fill");
    run(kernel, 1, program == WRONG ? 1025 : 1024, 0, allocate(1025 * sizeof(float)));
}

void moreThanLaunchBounds(Program program) {
    start();
    run(compile(FILL, "fill"), 1, program == WRONG ? 160 : 128, 0, allocate(160 * sizeof(float)));
}

// One block more than there are rows: the size of the grid is wrong.
void oneBlockTooMany(Program program) {
    start();
    run(compile(FILL, "fill"), program == WRONG ? 3 : 2, 64, 0, allocate(128 * sizeof(float)));
}

void noBlocks(Program program) {
    start();
    run(compile(FILL, "fill"), program == WRONG ? 0 : 1, 64, 0, allocate(64 * sizeof(float)));
}

void tooManyRows(Program program) {
    start();
    void* kernel = compile(R"(extern "C" __global__ void nothing() { })", "nothing");
    need(cuLaunchKernel(kernel, 1, program == WRONG ? 65536 : 300, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
        "cuLaunchKernel");
    finish();
}

void tooMuchSharedMemory(Program program) {
    start();
    constexpr int DYNAMIC_SHARED = 8;  // of CUfunction_attribute
    constexpr int BYTES = 100 << 10;
    void* kernel = compile(R"(
        #include "ptx.cuh"
        extern "C" __global__ void touch(float* y) {
            DYNAMIC_SHARED(float, row);
            row[threadIdx.x] = 1;
            y[threadIdx.x] = row[threadIdx.x];
        })", "touch");
    if (program == RIGHT) {
        need(cuFuncSetAttribute(kernel, DYNAMIC_SHARED, BYTES), "cuFuncSetAttribute");
    }
    run(kernel, 1, 32, BYTES, allocate(32 * sizeof(float)));
}

void divergentBarrier(Program program) {
    start();
    void* kernel = compile(R"(
        extern "C" __global__ void divided(int* y) {
            if (BUG && threadIdx.x >= 40) {
                return;
            }
            __syncthreads();
            if (threadIdx.x < 40) {
                y[threadIdx.x] = 1;
            }
        })", "divided", program);
    run(kernel, 1, 64, 0, allocate(40 * sizeof(int)));
}

void twoBarriers(Program program) {
    start();
    void* kernel = compile(R"(
        extern "C" __global__ void divided(int* y) {
            if (!BUG || threadIdx.x < 32) {
                __syncthreads();
            } else {
                __syncthreads();
            }
            y[threadIdx.x] = 1;
        })", "divided", program);
    run(kernel, 1, 64, 0, allocate(64 * sizeof(int)));
}

void shuffleOfHalfAWarp(Program program) {
    start();
    void* kernel = compile(R"(
        extern "C" __global__ void sum(int* y) {
            int lane = threadIdx.x;
            int x = 1;
            if (lane < 16) {
                x += __shfl_xor_sync(BUG ? 0x00ffu : 0xffffu, x, 4);
            }
            y[lane] = x;
        })", "sum", program);
    run(kernel, 1, 32, 0, allocate(32 * sizeof(int)));
}

void missingParameter(Program program) {
    start();
    void* kernel = compile(FILL, "fill");
    Address y = allocate(64 * sizeof(float));
    void* parameters[] = {program == WRONG ? nullptr : &y};
    need(cuLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, nullptr, parameters, nullptr), "cuLaunchKernel");
    finish();
}

void unknownKernel() {
    start();
    compile(FILL, "full");
}

}  // namespace

void addLaunches(Suite& suite) {
    suite.planted("more than 1024 threads in a block", {"cuLaunchKernel", "launch of fill", "1025 x 1 x 1 threads",
        "at most 1024"}, tooManyThreads);
    suite.planted("more threads than the launch bounds", {"launch of fill", "160 x 1 x 1 threads",
        "__launch_bounds__ allows 128"}, moreThanLaunchBounds);
    suite.planted("one block too many", {"kernel fill", "block (2, 0, 0), thread (0, 0, 0)", "out of bounds"},
        oneBlockTooMany);
    suite.planted("a launch of no blocks", {"launch of fill", "on 0 x 1 x 1 blocks", "nothing to run"}, noBlocks);
    suite.planted("more than 65535 rows of blocks", {"launch of nothing",
        "on 1 x 65536 x 1 blocks", "at most"}, tooManyRows);
    suite.planted("dynamic shared memory that was not asked for", {"launch of touch",
        "102400 bytes of dynamic shared memory"}, tooMuchSharedMemory);
    suite.caught("more shared memory than a smaller device has", {"touch", "102400 bytes of dynamic shared memory",
        "at most 101376"}, [] { tooMuchSharedMemory(RIGHT); }, {{"ISOBAR_SIM_CAPABILITY", "8.6"}});
    suite.planted("divergent barrier: some have ended", {"kernel divided", "block (0, 0, 0), thread (",
        "divergent barrier"}, divergentBarrier);
    suite.planted("divergent barrier: two of them", {"kernel divided", "block (0, 0, 0), thread (32, 0, 0)",
        "divergent barrier"}, twoBarriers);
    suite.planted("shuffle by lanes outside its mask", {"kernel sum", "thread (8, 0, 0)",
        "lacks the thread's own lane 8"}, shuffleOfHalfAWarp);
    suite.planted("missing parameter", {"fill", "takes 1 parameters, number 0 is missing"}, missingParameter);
    suite.caught("unknown kernel", {"cuModuleGetFunction", "no kernel full"}, unknownKernel);
    suite.caught("a launch that the environment makes fail", {"kernel fill", "ISOBAR_SIM_FAIL"}, [] {
        oneBlockTooMany(RIGHT);
    }, {{"ISOBAR_SIM_FAIL", "launch:1"}});
    suite.caught("a kernel that the environment makes fail", {"kernel fill", "launch 1 fails"}, [] {
        oneBlockTooMany(RIGHT);
    }, {{"ISOBAR_SIM_FAIL", "launch:fill:1"}});
    suite.clean("another kernel than the one that the environment makes fail", [] {
        oneBlockTooMany(RIGHT);
    }, {{"ISOBAR_SIM_FAIL", "launch:fil:1"}});
}

}  // namespace test
