// Checks of what kernels, copies and products of matrices do to memory of the device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "memory.h"

namespace sim {

// A launch begins: what was remembered of allocations may no longer hold.
void forgetAllocations();

enum class Direction { READ, WRITE };

// An access of the running thread of a kernel, anywhere in memory. Fails the thread if it may not be.
void noteAccess(Address a, size_t bytes, Direction direction, const void* programCounter);

// The same of an atomic operation.
void noteAtomic(Address a, size_t bytes, const void* programCounter);

// An access of the running operation as a whole. Throws a Failure, an error of the device.
void noteRange(Address a, size_t bytes, Direction direction);

}  // namespace sim
