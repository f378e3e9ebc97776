#include "fibers.h"

#include <sys/mman.h>

#include "config.h"
#include "errors.h"

namespace sim {

Stacks stacks;

namespace {

constexpr size_t STACK = 128 << 10;
constexpr size_t GUARD = 4096;
// Stacks that began at equal offsets would share a few sets of each cache. The offset of the last takes 33 KB of it.
constexpr size_t STAGGERS = 32;
constexpr size_t STAGGER = 17 * 64;  // an odd number of cache lines

// Where the stack with this number begins; it grows downwards.
uintptr_t* top(int number) {
    return reinterpret_cast<uintptr_t*>(stacks.base + (number + 1) * STACK - number % STAGGERS * STAGGER);
}

}  // namespace

void reserveStacks() {
    size_t bytes = STACK * MOST_THREADS;
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        refuse(OUT_OF_MEMORY, "no addresses for the stacks of a block");
    }
    stacks = {reinterpret_cast<uintptr_t>(memory), bytes};
    for (int i = 0; i < MOST_THREADS; ++i) {
        mprotect(static_cast<char*>(memory) + i * STACK, GUARD, PROT_NONE);
    }
}

#if defined(__x86_64__)

asm(R"(
    .text
    .globl sim_switch
    .hidden sim_switch
    .type sim_switch, @function
sim_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size sim_switch, . - sim_switch
)");

void* newFiber(int number, void (*entry)()) {
    constexpr int SAVED = 6;
    uintptr_t* next = top(number);
    *--next = 0;  // where entry would return to; at its start the stack is then 8 off a multiple of 16, as after a call
    *--next = reinterpret_cast<uintptr_t>(entry);
    for (int i = 0; i < SAVED; ++i) {
        *--next = 0;
    }
    return next;
}

#elif defined(__aarch64__)

asm(R"(
    .text
    .globl sim_switch
    .hidden sim_switch
    .type sim_switch, %function
sim_switch:
    sub sp, sp, #160
    stp x19, x20, [sp]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .size sim_switch, . - sim_switch
)");

void* newFiber(int number, void (*entry)()) {
    constexpr int SAVED = 20;
    constexpr int LINK = 11;  // x30
    uintptr_t* saved = top(number) - SAVED;
    for (int i = 0; i < SAVED; ++i) {
        saved[i] = 0;
    }
    saved[LINK] = reinterpret_cast<uintptr_t>(entry);
    return saved;
}

#else
#error "fibers are written for x86-64 and aarch64"
#endif

}  // namespace sim
