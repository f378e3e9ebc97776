// The entry of every exported function: lock, error handling.
#pragma once

#include <mutex>

#include "alone.h"
#include "errors.h"

#define SIM_API extern "C" __attribute__((visibility("default")))

namespace sim {

// Serializes calls. It is not recursive, so that a waiting call can release it for other threads.
inline std::recursive_mutex& machineLock() {
    static std::recursive_mutex* lock = new std::recursive_mutex;
    return *lock;
}

// Whether cuInit has been called.
bool initialized();

// The body of a call: its result is SUCCESS, the code of a Failure that it throws, or what it returns. Once the device
// has failed, that error is the result of every call.
template <typename Body>
int guarded(Body body) {
    std::lock_guard<std::recursive_mutex> hold(machineLock());
    noteCall();
    if (deviceError() != SUCCESS) {
        return deviceError();
    }
    try {
        if (!initialized()) {
            refuse(NOT_INITIALIZED, "cuInit has not been called");
        }
        return body();
    } catch (const Failure& failure) {
        report(failure);
        return failure.code;
    } catch (const DeviceFailed&) {
        return deviceError();
    }
}

}  // namespace sim
