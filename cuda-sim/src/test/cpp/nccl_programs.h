// Helpers of the tests of collectives that fail.
#pragma once

#include "ranks.h"
#include "suite.h"

namespace test {

constexpr size_t N = 64;
constexpr size_t BYTES = N * sizeof(float);
constexpr int NOT_READY = 600;

// Four simulated GPUs, and further variables.
Environment gpus(const Environment& more = {});

// N ones in the memory of the current device.
Address numbers();

void synchronize(const Rank& rank);

// Sums in place; the result of the call.
int allReduce(const Rank& rank, Address x, size_t count = N);

// Sends N numbers to the other of two ranks.
int sendAll(const Rank& rank, void* x);

// Queries the stream, which must not finish, until the communicator has an error.
int awaitError(const Rank& rank);

}  // namespace test
