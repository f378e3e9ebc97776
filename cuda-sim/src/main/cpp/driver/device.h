// The devices that the process sees, and which of them is current on the calling thread.
#pragma once

namespace sim {

struct Context {
    int device;
};

// Numbers are those of the process, from 0.
int checkedDevice(int device);
Context* contextOf(int device);

// Throws a Failure if no context is current.
int currentDevice();

}  // namespace sim
