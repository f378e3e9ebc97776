// Checks of accesses to device memory by kernels, copies and matrix products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "memory.h"
#include "shadow.h"

namespace sim {

// Call at the start of a launch: clears the cache of allocations, which may have changed.
void forgetAllocations();

enum class Direction { READ, WRITE };

// Checks an access of the running kernel thread to any memory. Fails the thread if the access is not allowed.
void noteAccess(Address a, size_t bytes, Direction direction, const void* programCounter);

// Checks an atomic access of the running kernel thread.
void noteAtomic(Address a, size_t bytes, const void* programCounter);

// Checks and records an access to memory of the running operation's device; returns what is wrong, or nothing.
std::string globalTrouble(Address a, size_t bytes, Direction direction, const Actor& by);

// Checks an access of the running operation as a whole. Throws a Failure, which is an error of the device.
void noteRange(Address a, size_t bytes, Direction direction);

}  // namespace sim
