// Programs that our NVRTC compiled: shared objects of the host, and the kernels in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sim {

struct Place;
struct Module;

// What the compiled program says of a kernel; twin of SimKernel in device/entry.h.
struct KernelEntry {
    void (*call)(void** parameters);
    const size_t* sizes;  // of the parameters
    int parameters;
    int mostThreads;      // from __launch_bounds__, or 1024
};

struct Kernel {
    Module* module;
    std::string title;  // file, function and definitions, for messages
    void (*call)(void** parameters);
    const size_t* sizes;
    int parameters;
    int mostThreads;
    size_t mostDynamicShared;  // that it may ask for
};

Module* loadModule(const void* image);
void unloadModule(Module* module);
Kernel* kernelOf(Module* module, const char* name);
Kernel* checkedKernel(void* handle);

// Static shared memory of a kernel's module, for the calling thread of the host.
struct StaticShared {
    uintptr_t base;
    size_t bytes;
};
StaticShared staticShared(const Kernel& kernel);
size_t staticSharedBytes(const Kernel& kernel);

// A byte of it, for messages: "byte 4 of sum::parts".
std::string staticSharedName(const Kernel& kernel, size_t offset);

// Whether the address is a constant or a variable of the kernel's module.
bool inModule(const Kernel& kernel, uintptr_t address);

// Where in the source an instruction is; the result refers to `file`.
Place placeOf(const Kernel& kernel, const void* programCounter, std::string& file);

}  // namespace sim
