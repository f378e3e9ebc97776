// What the machine knows of each four bytes of device memory: what was written, and by whom it was last written and
// read.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory.h"

namespace sim {

// Who touches memory: an operation, and the thread of a kernel's grid if it is a kernel.
struct Actor {
    static constexpr uint32_t NO_THREAD = UINT32_MAX;

    uint32_t operation = 0;
    uint32_t thread = NO_THREAD;  // linear in the grid
    uint32_t blockThreads = 1;
    uint32_t interval = 0;        // how many barriers its block has passed
    bool atomic = false;
};

enum class Trouble { NONE, UNWRITTEN, UNORDERED, RACE };

struct Finding {
    Trouble trouble = Trouble::NONE;
    Address address = 0;   // the first byte concerned, to four bytes
    uint32_t other = 0;    // UNORDERED: the operation; RACE: the thread
};

void reserveShadow(const Arena& arena);
void forgetShadow(Address base, size_t bytes);

// These check an access of live memory and note it.
Finding noteRead(Address a, size_t bytes, const Actor& actor);
Finding noteWrite(Address a, size_t bytes, const Actor& actor);

// For copies within device memory: what was not written at the source counts as not written at the target, whether or
// not something writes it later. Alignment to four bytes is lost where the two differ in it.
void copyWritten(Address to, Address from, size_t bytes);

}  // namespace sim
