// Programs with their kernels: shared objects of the host, compiled by the simulated NVRTC, or PTX of the real one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace ptx {
struct Kernel;
}

namespace sim {

struct Place;
struct Module;

// The description of a kernel in a compiled program; must match SimKernel in device/entry.h.
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
    size_t mostDynamicShared;  // the most dynamic shared memory that it may use
    const ptx::Kernel* code;   // what the PTX machine runs; null: `call` runs
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

// Describes a byte of static shared memory, for messages: "byte 4 of sum::parts".
std::string staticSharedName(const Kernel& kernel, size_t offset);

// Whether the address is a constant or a variable of the kernel's module.
bool inModule(const Kernel& kernel, uintptr_t address);

// The source line of an instruction; the result points into `file`.
Place placeOf(const Kernel& kernel, const void* programCounter, std::string& file);

}  // namespace sim
