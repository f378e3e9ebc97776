// A block of a kernel's grid: its threads take turns, each until it waits for others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config.h"
#include "errors.h"
#include "module.h"
#include "shadow.h"

namespace sim {

struct Index {
    uint32_t x, y, z;
};

// A place in a kernel's source.
struct Place {
    const char* file;
    int line;
};

// 16 bytes on their way to shared memory; `bytes` are what they will hold.
struct AsyncCopy {
    char* to;
    unsigned char bytes[16];
};

struct Thread {
    void* stack = nullptr;  // saved while it does not run
    int number = 0;         // linear in the block
    Index index{};
    bool exited = false;
    Place waiting{};        // where it waits for others; line 0: it does not
    const char* waitingFor = "";
    std::vector<std::vector<AsyncCopy>> groups;  // of asynchronous copies: committed, then the open one
    int warp() const { return number / WARP; }
    int lane() const { return number % WARP; }
};

// One launch of a kernel, while it runs.
struct Launch {
    const Kernel* kernel = nullptr;
    Index grid{}, block{};
    size_t dynamicShared = 0;
    void** parameters = nullptr;
    int threads = 0;         // of a block
    uint64_t blockNumber = 0;
    Index blockIndex{};
    std::vector<uint8_t> fenced;  // blocks that passed a fence
    bool fence = false;      // any of them
};
extern Launch launch;

extern Thread* self;      // the thread that runs
extern Actor actor;       // the same, for the records of device memory

// Runs the block launch.blockIndex to its end. Throws a Failure, an error of the device, if it went wrong.
void runBlock();

// The running thread fails: its block ends here.
[[noreturn]] void failThread(Code code, const std::string& what, const Place& place);
[[noreturn]] void failThreadAt(Code code, const std::string& what, const void* programCounter);

// The same in parts: what will be said of the running thread, and the end of the block.
Failure failureAt(Code code, const std::string& what, const void* programCounter);
[[noreturn]] void failBlock(const Failure& failure);

// A barrier of the block. The result is the number of threads whose predicate holds.
int barrier(bool predicate, const char* name, const Place& place);

// The lanes of `mask` of a warp meet. When the last one has come, `compute` gets what each gave, null for lanes that
// are not there, and all go on.
using Compute = void (*)(void** arguments, uint32_t lanes);
void meet(uint32_t mask, Compute compute, void* argument, const char* name, const Place& place);

std::string threadName(uint32_t threadInGrid);

// A fence of the running thread; and whether what another block wrote may have been handed over by a fence.
void fence();
bool handedOver(uint32_t block);

}  // namespace sim
