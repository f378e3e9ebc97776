// Fibers, one for each thread of a block. Each has its own stack; a switch saves the callee-saved registers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sim {

// All stacks are in one range, so that accesses to local variables are recognized quickly.
struct Stacks {
    uintptr_t base = 0;
    size_t bytes = 0;
};
extern Stacks stacks;

void reserveStacks();

// Creates a fiber that runs `entry`, which must not return, on the stack with this number.
void* newFiber(int number, void (*entry)());

// Saves the running fiber in `from` and switches to `to`.
extern "C" void sim_switch(void** from, void* to);

}  // namespace sim
