// Attention as an operation's descriptor says, checked; and the memory of a call.
#pragma once

#include <string>
#include <vector>

#include "backend.h"
#include "sim.h"
#include "status.h"

namespace cudnn {

// The tensors of an operation, in this order; the last four of the backward operation alone.
enum Role { Q, K, V, O, STATS, SCALE, DO, DQ, DK, DV, ROLES };

// A tensor of four extents (B, H, tokens, channels) in memory.
struct Strided {
    char* data = nullptr;
    int type = F32;
    int64_t id = 0;
    int64_t alignment = 1;
    int64_t extents[4] = {};
    int64_t strides[4] = {};  // elements
};

struct Sdpa {
    bool backward = false;
    Strided tensors[ROLES];
    float scale = 1;
    bool unequal = false;  // gives other bits at each call

    int roles() const { return backward ? ROLES : DO; }
    bool writes(int role) const { return backward ? role >= DQ : role == O || role == STATS; }
};

size_t bytesOf(int type);
const char* nameOf(Role role);

// "cudnn attention backward 2 x 3 x 37 x 45 x 16 bf16": B, H, queries, keys, channels.
std::string nameOf(const Sdpa& sdpa);

// Checks a tensor's descriptor before it is finalized.
Status checkTensor(const Descriptor& tensor);

// Checks an operation's descriptor before it is finalized.
Status checkOperation(const Descriptor& operation);

// The operation of a checked descriptor, without memory.
Sdpa sdpaOf(const Descriptor& operation);

// Checks the memory of a call: presence, alignment, and that outputs overlap nothing.
Status checkMemory(const Sdpa& sdpa);

// The pieces of memory of one tensor.
std::vector<SimRange> ranges(const Strided& tensor);

// Bytes of workspace that the engine of this number needs.
int64_t workspaceOf(const Sdpa& sdpa, int engine);

// Computes: exact products, sums and exponentials in double precision, rounded once.
void compute(const Sdpa& sdpa);

}  // namespace cudnn
