// What an access to memory costs, and the least that the same bytes could cost.
#pragma once

#include "warp.h"

namespace ptx {

// Addresses of `bytes` bytes each of the lanes of a mask.
void countGlobal(Counts& counts, const uint64_t* addresses, uint32_t mask, unsigned bytes);
void countShared(Counts& counts, const uint32_t* addresses, uint32_t mask, unsigned bytes);

// Checks an access to global memory and counts it.
void checkGlobal(Warp& warp, const Instruction& i, const uint64_t* addresses, uint32_t mask, unsigned bytes, Use use);

// Checks accesses to shared memory, lane by lane, and counts them.
void checkShared(Warp& warp, const Instruction& i, const char* wrong);

}  // namespace ptx
