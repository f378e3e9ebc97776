// The functions that kernels call: indices, barriers, shuffles and votes of a warp, atomics. Twin of device/runtime.h.
#include <cstring>

#include "access.h"
#include "api.h"
#include "block.h"
#include "shared.h"

using namespace sim;

namespace {

enum ShuffleKind { INDEX, UP, DOWN, XOR };

struct Shuffle {
    uint64_t value;
    int kind;
    int operand;
    int width;
    Place place;
    uint64_t result;
};

int sourceLane(const Shuffle& shuffle, int lane) {
    int first = lane & ~(shuffle.width - 1);
    int last = first + shuffle.width - 1;
    int source = lane;
    switch (shuffle.kind) {
        case INDEX: source = first + (shuffle.operand & (shuffle.width - 1)); break;
        case UP: source = lane - shuffle.operand; break;
        case DOWN: source = lane + shuffle.operand; break;
        default: source = lane ^ shuffle.operand;
    }
    return source < first || source > last ? lane : source;
}

void shuffleLanes(void** arguments, uint32_t lanes) {
    for (int lane = 0; lane < WARP; ++lane) {
        auto shuffle = static_cast<Shuffle*>(arguments[lane]);
        if (shuffle == nullptr) {
            continue;
        }
        int source = sourceLane(*shuffle, lane);
        if ((lanes >> source & 1) == 0) {
            failThread(LAUNCH_FAILED, format("shuffle: lane %d reads from lane %d, which is not there", lane, source),
                shuffle->place);
        }
        shuffle->result = static_cast<Shuffle*>(arguments[source])->value;
    }
}

struct Vote {
    bool predicate;
    uint32_t holding;
    uint32_t lanes;
};

void countVotes(void** arguments, uint32_t lanes) {
    uint32_t holding = 0;
    for (int lane = 0; lane < WARP; ++lane) {
        auto vote = static_cast<Vote*>(arguments[lane]);
        holding |= vote != nullptr && vote->predicate ? 1u << lane : 0;
    }
    for (int lane = 0; lane < WARP; ++lane) {
        if (auto vote = static_cast<Vote*>(arguments[lane])) {
            vote->holding = holding;
            vote->lanes = lanes;
        }
    }
}

void nothing(void**, uint32_t) { }

}  // namespace

SIM_API Index sim_thread_index() { return self->index; }
SIM_API Index sim_block_index() { return launch.blockIndex; }
SIM_API Index sim_block_size() { return launch.block; }
SIM_API Index sim_grid_size() { return launch.grid; }
SIM_API void* sim_dynamic_shared() { return reinterpret_cast<void*>(dynamicRange.base); }

SIM_API int sim_barrier(int predicate, const char* file, int line) {
    return barrier(predicate != 0, "__syncthreads", {file, line});
}

SIM_API int sim_threads() { return launch.threads; }

SIM_API void sim_warp_barrier(unsigned mask, const char* file, int line) {
    meet(mask, nothing, self, "__syncwarp", {file, line});
}

SIM_API unsigned long long sim_shuffle(unsigned mask, unsigned long long value, int kind, int operand, int width,
    const char* file, int line) {
    if (width < 1 || width > WARP || (width & (width - 1)) != 0) {
        failThread(LAUNCH_FAILED, format("shuffle of width %d, not a power of two up to 32", width), {file, line});
    }
    Shuffle shuffle{value, kind, operand, width, {file, line}, 0};
    meet(mask, shuffleLanes, &shuffle, "__shfl_sync", {file, line});
    return shuffle.result;
}

SIM_API unsigned long long sim_vote(unsigned mask, int predicate, const char* file, int line) {
    Vote vote{predicate != 0, 0, 0};
    meet(mask, countVotes, &vote, "a vote of the warp", {file, line});
    return static_cast<unsigned long long>(vote.lanes) << 32 | vote.holding;
}

SIM_API void sim_fence() { fence(); }

// Blocks run one after the other, so that what a block waits for is there or never comes.
SIM_API void sim_poll(const char* file, int line) {
    constexpr int ENOUGH = 100;
    if (++self->polls > ENOUGH) {
        failThread(LAUNCH_FAILED, "waits for ever for a block that has not started", {file, line});
    }
}

SIM_API void sim_check_atomic(void* a, unsigned long long bytes) {
    noteAtomic(reinterpret_cast<Address>(a), bytes, __builtin_return_address(0));
}

SIM_API void sim_trap(const char* what, const char* file, int line) {
    failThread(LAUNCH_FAILED, what, {file, line});
}
