// The devices that the process sees, and the current device of the calling thread.
#pragma once

namespace sim {

struct Context {
    int device;
};

// Device numbers are those that the process sees, from 0.
int checkedDevice(int device);
Context* contextOf(int device);

// Throws a Failure if no context is current.
int currentDevice();

}  // namespace sim
