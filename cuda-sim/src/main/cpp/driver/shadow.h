// Shadow memory: for each four bytes of device memory, which bytes were written, and the last writer and reader.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory.h"

namespace sim {

// The origin of a memory access: an operation and, for kernels, the thread in the grid.
struct Actor {
    static constexpr uint32_t NO_THREAD = UINT32_MAX;

    uint32_t operation = 0;
    uint32_t thread = NO_THREAD;  // linear index in the grid
    uint32_t blockThreads = 1;
    uint32_t interval = 0;        // number of barriers that its block has passed
    bool atomic = false;
};

enum class Trouble { NONE, UNWRITTEN, UNORDERED, RACE };

struct Finding {
    Trouble trouble = Trouble::NONE;
    Address address = 0;   // address of the first affected word
    uint32_t other = 0;    // UNORDERED: the operation; RACE: the thread
};

void reserveShadow(const Arena& arena);
void forgetShadow(Address base, size_t bytes);

// Check an access to live memory and record it.
Finding noteRead(Address a, size_t bytes, const Actor& actor);
Finding noteWrite(Address a, size_t bytes, const Actor& actor);

// For copies within device memory: bytes that are unwritten at the source become unwritten at the target.
void copyWritten(Address to, Address from, size_t bytes);

}  // namespace sim
