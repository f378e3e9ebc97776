#include "comm.h"

#include <map>

#include "status.h"

namespace nccl {
namespace {

// Handles are numbers.
struct Handles {
    std::mutex lock;
    uintptr_t next = FIRST;
    std::map<uintptr_t, std::shared_ptr<Comm>> comms;
    static constexpr uintptr_t FIRST = 0x1000;
    static constexpr uintptr_t STEP = 0x10;
};

Handles& handles() {
    static Handles* all = new Handles;
    return *all;
}

uintptr_t number(void* handle) {
    return reinterpret_cast<uintptr_t>(handle);
}

}  // namespace

void* keep(std::shared_ptr<Comm> comm) {
    std::lock_guard<std::mutex> hold(handles().lock);
    uintptr_t handle = handles().next;
    handles().next += Handles::STEP;
    handles().comms[handle] = std::move(comm);
    return reinterpret_cast<void*>(handle);
}

std::shared_ptr<Comm> find(void* handle, const char* call, Status& status) {
    std::lock_guard<std::mutex> hold(handles().lock);
    auto found = handles().comms.find(number(handle));
    if (found != handles().comms.end()) {
        return found->second;
    }
    bool was = number(handle) >= Handles::FIRST && number(handle) < handles().next;
    status = refuse(INVALID_ARGUMENT, format("%s: %s", call, was ? "the communicator was destroyed or aborted"
        : "no communicator"));
    return nullptr;
}

void forget(void* handle) {
    std::lock_guard<std::mutex> hold(handles().lock);
    handles().comms.erase(number(handle));
}

void asynchronous(Comm& comm, Status status, const std::string& why) {
    int none = SUCCESS;
    if (comm.error.compare_exchange_strong(none, status)) {
        refuse(status, why);
    }
}

}  // namespace nccl
