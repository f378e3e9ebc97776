// Memory of the devices and pinned host memory. All devices share one reserved address range. Allocations in it have
// guard zones on both sides, and addresses are reused only when no new ones are left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace sim {

using Address = uintptr_t;

struct Allocation {
    Address base;
    size_t bytes;
    int device;
    bool live;
};

// The address range of all device memory; fixed at cuInit.
struct Arena {
    Address base = 0;
    size_t bytes = 0;
    bool holds(Address a) const { return a - base < bytes; }
};
extern Arena arena;

void reserveMemory();
Address allocate(int device, size_t bytes);
void release(Address base);
void releaseAll(int device);
size_t usedMemory(int device);

// The allocation whose bytes include the address, or null.
const Allocation* allocationAt(Address a);

// Describes an address, for messages: "byte 400 of an allocation of 400 bytes", "memory of the host", ...
std::string describe(Address a);

// The allocation that holds [a, a + bytes) whole.
// Throws a Failure naming `what` if the range is not in live device memory.
const Allocation& deviceRange(Address a, size_t bytes, const char* what);

void* allocatePinned(size_t bytes);
void releasePinned(void* base);
bool isPinned(const void* address, size_t bytes);

}  // namespace sim
