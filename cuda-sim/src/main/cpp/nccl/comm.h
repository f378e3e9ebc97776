// Communicators and their handles.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "segment.h"

namespace nccl {

enum class State { LIVE, FINALIZED, DESTROYED, ABORTED };

// An operator of ncclRedOpCreatePreMulSum.
struct Factor {
    bool live;
    int type;
    uint64_t bits;          // the number, in its first bytes
    const void* onDevice;   // where the number is to be read when the operation runs; null: it is known
};

struct Comm {
    int size;
    int rank;
    int device;   // number in the process
    std::unique_ptr<Segment> segment;
    std::atomic<State> state = State::LIVE;
    std::atomic<int> error = SUCCESS;
    std::atomic<int> pending = 0;  // units that have not run, and those that graphs keep
    bool connected = false;        // as known to its thread
    uint64_t operations = 0;       // collective ones that have begun
    std::vector<Factor> factors;   // by the operator's value - PREMUL_SUM; guarded by `lock`
    std::mutex lock;
};

// Handles are never reused, so that the handle of a destroyed communicator is recognized.
void* keep(std::shared_ptr<Comm> comm);

// The communicator of a handle. Null if there is none; the status of this call then says why.
std::shared_ptr<Comm> find(void* handle, const char* call, Status& status);

// Invalidates the handle.
void forget(void* handle);

}  // namespace nccl
