// Shared memory of the running block. Each byte has a record of whether it was written, and of the threads that
// accessed it since the last barrier.
#pragma once

#include <cstddef>
#include <cstdint>

#include "errors.h"

namespace sim {

// The addresses of static shared memory (variables of the program) and of dynamic shared memory (sized by the launch).
struct SharedRange {
    uintptr_t base = 0;
    size_t bytes = 0;
};
extern SharedRange staticRange;
extern SharedRange dynamicRange;

void reserveShared();

// Prepares for the running launch, whose sizes are known.
void openShared();

// Starts a block: no byte is written.
void beginShared();

// Drops the records of pending asynchronous copies to these bytes, which will not arrive.
void forgetShared(uintptr_t a, size_t bytes);

// The block, or a warp, has passed a barrier: earlier accesses are ordered before later ones.
void blockMet();
void warpMet(int warp);

// A read of unwritten memory fails the block only at its next barrier, because a write before the barrier makes it a
// race. This is the message to report, or null.
const Failure* unwrittenRead();

// Whether the address is in or near shared memory. If so, noteShared checks an access of the running thread, and fails
// the thread if the access is not allowed.
bool nearShared(uintptr_t a);

enum class Use { READ, WRITE, ATOMIC, ASYNC_BEGIN, ASYNC_END };
void noteShared(uintptr_t a, size_t bytes, Use use, const void* programCounter);

}  // namespace sim
