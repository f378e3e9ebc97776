// A checked call of a collective, a send or a receive.
#pragma once

#include <string>
#include <vector>

#include "comm.h"
#include "sim.h"

namespace nccl {

enum class Kind { ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER, BROADCAST, REDUCE, SEND, RECEIVE };

struct Call {
    Kind kind;
    const void* send;   // null if this rank sends nothing
    void* receive;      // null if this rank receives nothing
    uint64_t count;     // of numbers, as in the call: for ALL_GATHER and REDUCE_SCATTER those of one rank
    int type;
    int op = SUM;       // PREMUL_SUM: with this factor
    int root = 0;       // SEND and RECEIVE: the other rank
    Factor factor = {};
};

bool isCollective(Kind kind);
bool isReduction(Kind kind);

// "all-reduce of 500 float32 sum"
std::string describe(Kind kind, uint64_t count, int type, int op, int root);

// Checks a call, and clears the buffers that this rank does not use.
Status check(const Comm& comm, Call& call);

// The memory that it reads and writes.
std::vector<SimRange> reads(const Comm& comm, const Call& call);
std::vector<SimRange> writes(const Comm& comm, const Call& call);

bool overlap(const SimRange& first, const SimRange& second);

}  // namespace nccl
