// Runs a block of a grid. Its threads are fibers: one runs until it waits for others, then the next one runs.
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

// An asynchronous copy to shared memory that has not arrived, with its content.
struct AsyncCopy {
    char* to;
    unsigned char bytes[16];
};

struct Thread {
    void* stack = nullptr;  // stack pointer while it does not run
    int number = 0;         // linear index in the block
    Index index{};
    bool exited = false;
    int polls = 0;          // reads of what it waits for
    Place waiting{};        // where it waits for others; line 0: it does not wait
    const char* waitingFor = "";
    std::vector<std::vector<AsyncCopy>> groups;  // groups of asynchronous copies: the committed ones, then the open one
    int warp() const { return number / WARP; }
    int lane() const { return number % WARP; }
};

// One launch of a kernel, while it runs.
struct Launch {
    const Kernel* kernel = nullptr;
    Index grid{}, block{};
    size_t dynamicShared = 0;
    void** parameters = nullptr;
    int threads = 0;         // in a block
    uint64_t blockNumber = 0;
    Index blockIndex{};
    std::vector<uint8_t> fenced;  // blocks that passed a fence
    bool fence = false;      // whether any block passed a fence
};
extern Launch launch;

extern Thread* self;      // the running thread
extern Actor actor;       // the running thread, as recorded for device memory

// Runs the block launch.blockIndex to its end. Throws a Failure, which is an error of the device.
void runBlock();

// Fails the running thread and ends its block.
[[noreturn]] void failThread(Code code, const std::string& what, const Place& place);
[[noreturn]] void failThreadAt(Code code, const std::string& what, const void* programCounter);

// The two parts of fail(): the message for the running thread, and the end of the block.
Failure failureAt(Code code, const std::string& what, const void* programCounter);
[[noreturn]] void failBlock(const Failure& failure);

// A barrier of the block. The result is the number of threads whose predicate holds.
int barrier(bool predicate, const char* name, const Place& place);

// Synchronizes the lanes of `mask` of a warp. When the last one arrives, `compute` gets the value of each lane, null
// for absent lanes, and all go on.
using Compute = void (*)(void** arguments, uint32_t lanes);
void meet(uint32_t mask, Compute compute, void* argument, const char* name, const Place& place);

std::string threadName(uint32_t threadInGrid);

// Executes a fence of the running thread; and whether a fence may order the writes of another block before this one.
void fence();
bool handedOver(uint32_t block);

}  // namespace sim
