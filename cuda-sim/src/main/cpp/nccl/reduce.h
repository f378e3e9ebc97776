// Reductions over the ranks, number by number, in the order of the ranks.
#pragma once

#include "nccl.h"

namespace nccl {

// One rank's numbers, and its factor for PREMUL_SUM: a number of the same type in the first bytes.
struct Contribution {
    const void* numbers;
    uint64_t factor;
};

// Reduces `count` numbers of `ranks` contributions to `result`. Narrow floating-point numbers are widened to single
// precision, which rounds after each addition, and narrowed once, at the end. AVG multiplies each by 1 / ranks before
// the sum; of integers it divides the sum. MAX and MIN ignore NaN, as fmaxf and fminf do.
void reduce(int type, int op, const Contribution* contributions, int ranks, void* result, size_t count);

}  // namespace nccl
