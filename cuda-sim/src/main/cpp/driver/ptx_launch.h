// Launches of kernels that are PTX.
#pragma once

#include "block.h"

namespace sim {

// Runs the launch on the PTX machine, in the running operation. Throws a Failure, which is an error of the device.
void runPtx(const Kernel& kernel, Index grid, Index block, size_t dynamicShared, void** parameters);

}  // namespace sim
