// Shared memory: races, bounds, initialization, asynchronous copies.
#include <vector>

#include "machine.h"
#include "suite.h"

namespace test {
namespace {

// Each thread reads its opposite's element. Only the correct program waits until all threads have doubled theirs.
void missingBarrier(Program program) {
    start();
    void* kernel = compile(R"(
        extern "C" __global__ void reverse(int* y) {
            __shared__ int row[64];
            row[threadIdx.x] = threadIdx.x;
            __syncthreads();
            row[threadIdx.x] *= 2;
            if (!BUG) {
                __syncthreads();
            }
            y[threadIdx.x] = row[63 - threadIdx.x];
        })", "reverse", program);
    Address y = allocate(64 * sizeof(int));
    run(kernel, 1, 64, 0, y);
    check(download<int>(y, 64)[0] == 126, "the row is doubled and reversed");
}

// The row is written again while slower threads still read it.
void missingSecondBarrier(Program program) {
    start();
    void* kernel = compile(R"(
        extern "C" __global__ void sums(int* y) {
            __shared__ int row[64];
            int sum = 0;
            for (int round = 0; round < 2; ++round) {
                row[threadIdx.x] = threadIdx.x + round;
                __syncthreads();
                sum += row[63 - threadIdx.x];
                if (!BUG) {
                    __syncthreads();
                }
            }
            y[threadIdx.x] = sum;
        })", "sums", program);
    run(kernel, 1, 64, 0, allocate(64 * sizeof(int)));
}

void missingWarpBarrier(Program program) {
    start();
    void* kernel = compile(R"(
        extern "C" __global__ void reverse(int* y) {
            __shared__ int row[32];
            row[threadIdx.x] = threadIdx.x;
            __syncwarp();
            row[threadIdx.x] *= 2;
            if (!BUG) {
                __syncwarp();
            }
            y[threadIdx.x] = row[31 - threadIdx.x];
        })", "reverse", program);
    run(kernel, 1, 32, 0, allocate(32 * sizeof(int)));
}

void pastTheDynamicEnd(Program program) {
    start();
    void* kernel = compile(R"(
        #include "ptx.cuh"
        extern "C" __global__ void touch(float* y) {
            DYNAMIC_SHARED(float, row);
            row[threadIdx.x + BUG] = 1;
            __syncthreads();
            y[threadIdx.x] = row[threadIdx.x + BUG];
        })", "touch", program);
    run(kernel, 1, 64, 64 * sizeof(float), allocate(64 * sizeof(float)));
}

void unwritten(Program program) {
    start();
    void* kernel = compile(R"(
        extern "C" __global__ void touch(float* y) {
            __shared__ float row[64];
            if (!BUG || threadIdx.x < 40) {
                row[threadIdx.x] = 1;
            }
            __syncthreads();
            y[threadIdx.x] = row[threadIdx.x];
        })", "touch", program);
    run(kernel, 1, 64, 0, allocate(64 * sizeof(float)));
}

constexpr const char* BACKGROUND = R"(
    #include "ptx.cuh"
    extern "C" __global__ void pass(float* y, const float* x) {
        DYNAMIC_SHARED(float, row);
        cp_async_16(row + 4 * threadIdx.x, x + 4 * threadIdx.x + (BUG == 2), true);
        cp_async_commit();
        if (BUG != 1) {
            cp_async_wait<0>();
        }
        __syncthreads();
        y[threadIdx.x] = row[threadIdx.x];
    })";

void copyWithoutWait(Program program) {
    start();
    run(compile(BACKGROUND, "pass", program == WRONG ? 1 : 0), 1, 16, 256, allocate(64),
        upload(std::vector<float>(65, 1.0f)));
}

void misalignedCopy(Program program) {
    start();
    run(compile(BACKGROUND, "pass", program == WRONG ? 2 : 0), 1, 16, 256, allocate(64),
        upload(std::vector<float>(65, 1.0f)));
}

// An invalid copy does not read its source; zeros arrive.
void copyOfZeros() {
    start();
    void* kernel = compile(R"(
        #include "ptx.cuh"
        extern "C" __global__ void pass(float* y, const float* x) {
            DYNAMIC_SHARED(float, row);
            cp_async_16(row, x, false);
            cp_async_commit();
            cp_async_wait<0>();
            for (int i = 0; i < 4; ++i) {
                y[i] = row[i];
            }
        })", "pass");
    Address y = allocate(16);
    run(kernel, 1, 1, 16, y, Address{0});
    check(download<float>(y, 4) == std::vector<float>(4, 0.0f), "zeros");
}

// Two pending groups: waiting for all but the latest makes only the first visible.
void copiesInTwoGroups(Program program) {
    start();
    void* kernel = compile(R"(
        #include "ptx.cuh"
        extern "C" __global__ void pass(float* y, const float* x) {
            DYNAMIC_SHARED(float, row);
            cp_async_16(row, x, true);
            cp_async_commit();
            cp_async_16(row + 4, x + 4, true);
            cp_async_commit();
            cp_async_wait<1>();
            y[0] = row[BUG ? 4 : 0];
            cp_async_wait<0>();
            y[1] = row[4];
        })", "pass", program);
    Address y = allocate(8);
    run(kernel, 1, 1, 32, y, upload(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}));
    check(download<float>(y, 2) == std::vector<float>({1, 5}), "both groups arrive");
}

// Two buffers in turn, as a pipelined kernel has them. Without the second barrier a fast thread's copy overwrites what
// a slow one still reads.
void copyOverWhatIsRead(Program program) {
    start();
    void* kernel = compile(R"(
        #include "ptx.cuh"
        extern "C" __global__ void sum(float* y, const float* x, int tiles) {
            DYNAMIC_SHARED(float, buffers);  // (2, 4 threads)
            int width = 4 * blockDim.x;
            int mine = 4 * threadIdx.x;
            float total = 0;
            cp_async_16(buffers + mine, x + mine, true);
            cp_async_commit();
            for (int tile = 0; tile < tiles; ++tile) {
                bool more = tile + 1 < tiles;
                cp_async_16(buffers + (tile + 1) % 2 * width + mine, x + (more ? tile + 1 : 0) * width + mine, more);
                cp_async_commit();
                cp_async_wait<1>();
                __syncthreads();
                for (int i = 0; i < 4; ++i) {
                    total += buffers[tile % 2 * width + width - 1 - mine - i];
                }
                if (!BUG) {
                    __syncthreads();
                }
            }
            y[threadIdx.x] = total;
        })", "sum", program);
    constexpr int TILES = 5;
    constexpr int THREADS = 64;
    std::vector<float> x(TILES * 4 * THREADS);
    for (size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<float>(i);
    }
    Address y = allocate(THREADS * sizeof(float));
    run(kernel, 1, THREADS, 2 * 4 * THREADS * sizeof(float), y, upload(x), TILES);
    float expected = 0;
    for (int tile = 0; tile < TILES; ++tile) {
        for (int i = 0; i < 4; ++i) {
            expected += x[tile * 4 * THREADS + i];
        }
    }
    check(download<float>(y, THREADS)[THREADS - 1] == expected, "the last thread adds the first elements of each tile");
}

void misalignedLdmatrix(Program program) {
    start();
    void* kernel = compile(R"(
        #include "ptx.cuh"
        extern "C" __global__ void load(unsigned* y) {
            DYNAMIC_SHARED(half_t, tile);
            for (int i = 0; i < 10; ++i) {
                tile[threadIdx.x * 10 + i] = half_t{1};
            }
            __syncthreads();
            unsigned r[4];
            ldmatrix_x4(r, tile + threadIdx.x * (BUG ? 9 : 8));
            y[threadIdx.x] = r[0];
        })", "load", program);
    run(kernel, 1, 32, 640, allocate(128));
}

}  // namespace

void addSharedMemory(Suite& suite) {
    suite.planted("shared-memory race: missing barrier", {"kernel reverse", "block (0, 0, 0), thread (",
        "race on byte", "no __syncthreads stands between"}, missingBarrier);
    suite.planted("shared-memory race: missing second barrier", {"kernel sums", "block (0, 0, 0), thread (",
        "race on byte", "no __syncthreads stands between"}, missingSecondBarrier);
    suite.planted("shared-memory race within a warp", {"kernel reverse", "block (0, 0, 0), thread (",
        "race on byte", "no __syncwarp stands between"}, missingWarpBarrier);
    suite.planted("out of the dynamic shared memory", {"kernel touch", "block (0, 0, 0), thread (63, 0, 0)",
        "byte 256 of 256 bytes of dynamic shared memory"}, pastTheDynamicEnd);
    suite.planted("read of shared memory that nothing wrote", {"kernel touch", "block (0, 0, 0), thread (",
        "static shared memory, which nothing wrote"}, unwritten);
    suite.planted("cp.async without a wait", {"kernel pass", "thread (", "cp_async_wait is missing"}, copyWithoutWait);
    suite.planted("cp.async read before its group has arrived", {"kernel pass", "cp_async_wait is missing"},
        copiesInTwoGroups);
    suite.planted("cp.async over what is still read", {"kernel sum", "block (0, 0, 0), thread (", "cp_async of thread",
        "still fills"}, copyOverWhatIsRead);
    suite.planted("misaligned cp.async", {"kernel pass", "thread (0, 0, 0)", "cp_async",
        "not a multiple of 16"}, misalignedCopy);
    suite.planted("misaligned ldmatrix", {"kernel load", "block (0, 0, 0), thread (", "ldmatrix",
        "not a multiple of 16"}, misalignedLdmatrix);
    suite.clean("cp.async brings zeros where it is not valid", copyOfZeros);
}

}  // namespace test
