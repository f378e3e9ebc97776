// Inputs for tests of collectives, and their expected results.
#pragma once

#include <vector>

#include "ranks.h"

namespace test {

constexpr size_t MANY = 200003;  // several pieces, the last one short

using Values = std::vector<double>;

// Small whole numbers: sums and products of four are exact in all types.
double value(int rank, size_t i);
Values values(int rank, size_t count, size_t first = 0);

// Expected result of a reduction over the first `size` ranks.
Values reduced(int op, int type, int size, size_t count, size_t first = 0);

// Copies to the current device, and back after the rank's stream has ended.
Address up(int type, const Values& values);
Values down(const Rank& rank, int type, Address address, size_t count);

// Memory filled with nines.
Address poisoned(int type, size_t count);

// An all-reduce into other memory and one in place, both checked.
void allReduce(Rank& rank, int type, int op, size_t count);

}  // namespace test
