// Shared memory of the running block, and what is known of each of its bytes: whether it was written, and who touched
// it since the last barrier.
#pragma once

#include <cstddef>
#include <cstdint>

#include "errors.h"

namespace sim {

// Where the two kinds of it lie: variables of the program, and what the launch asked for.
struct SharedRange {
    uintptr_t base = 0;
    size_t bytes = 0;
};
extern SharedRange staticRange;
extern SharedRange dynamicRange;

void reserveShared();

// For the running launch: its sizes are known.
void openShared();

// A block begins: nothing is written.
void beginShared();

// What an asynchronous copy was to fill, it never will.
void forgetShared(uintptr_t a, size_t bytes);

// The block, or a warp, has met: what was done before is ordered before what follows.
void blockMet();
void warpMet(int warp);

// A read of what nothing wrote fails the block no sooner than at its next barrier, for a write that comes before that
// shows it to be a race. This is what is to be reported, or null.
const Failure* unwrittenRead();

// Whether the address is in or near shared memory; noteShared then checks an access of the running thread and fails it
// if it may not be.
bool nearShared(uintptr_t a);

enum class Use { READ, WRITE, ATOMIC, ASYNC_BEGIN, ASYNC_END };
void noteShared(uintptr_t a, size_t bytes, Use use, const void* programCounter);

}  // namespace sim
