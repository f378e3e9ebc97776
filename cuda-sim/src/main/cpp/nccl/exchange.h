// The data exchange of a call: piece by piece through shared memory, without blocking.
#pragma once

#include "call.h"

namespace nccl {

// The progress of a call.
struct Progress {
    bool begun = false;
    uint64_t number = 0;  // of the communicator's collectives, from 1
    uint64_t base = 0;    // number of pieces of earlier calls with the same peers
    uint64_t total = 0;   // its own pieces
    uint64_t posted = 0;
    uint64_t taken = 0;
};

enum class Advance { STANDS, MOVED, DONE };

// Exchanges the pieces that can be exchanged now. Fails the device if the calls of the ranks do not match.
Advance advance(Comm& comm, const Call& call, Progress& progress);

}  // namespace nccl
