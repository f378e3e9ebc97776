// How a call's data goes from rank to rank: piece by piece through the shared memory, never waiting.
#pragma once

#include "call.h"

namespace nccl {

// How far a call has come.
struct Progress {
    bool begun = false;
    uint64_t number = 0;  // of the communicator's collectives, from 1
    uint64_t base = 0;    // pieces on its way before it
    uint64_t total = 0;   // its own pieces
    uint64_t posted = 0;
    uint64_t taken = 0;
};

enum class Advance { STANDS, MOVED, DONE };

// Does what can be done now. Where the ranks' calls do not match, the device fails.
Advance advance(Comm& comm, const Call& call, Progress& progress);

}  // namespace nccl
