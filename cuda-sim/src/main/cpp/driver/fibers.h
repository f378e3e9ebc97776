// Threads of a block as fibers: a stack each, and a switch from one to another that saves what a call preserves.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sim {

// All stacks lie in one range, so that an access of a thread's own variables is told at once.
struct Stacks {
    uintptr_t base = 0;
    size_t bytes = 0;
};
extern Stacks stacks;

void reserveStacks();

// A fiber that, switched to, calls `entry`, which must not return; the number says which stack it takes.
void* newFiber(int number, void (*entry)());

// Saves the running fiber at `from` and goes on with `to`.
extern "C" void sim_switch(void** from, void* to);

}  // namespace sim
