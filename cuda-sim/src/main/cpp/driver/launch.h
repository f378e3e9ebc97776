// Launches of kernels: their limits, and running them block by block.
#pragma once

#include "block.h"
#include "streams.h"

namespace sim {

// Throws a Failure if the kernel cannot be launched with this configuration.
void checkLaunch(const Kernel& kernel, Index grid, Index block, size_t dynamicShared);

// Puts a launch on a stream; the parameters are copied.
void issueLaunch(Stream* stream, const Kernel& kernel, Index grid, Index block, size_t dynamicShared,
    void** parameters);

// How many blocks fit on a multiprocessor, by threads and shared memory.
int blocksPerMultiprocessor(const Kernel& kernel, int threads, size_t dynamicShared);

}  // namespace sim
