// A warp while it runs, and the decoded instructions that it runs. Each register is a row of 32 lanes.
#pragma once

#include <cstring>
#include <random>
#include <vector>

#include "machine.h"
#include "shared.h"
#include "text.h"

namespace ptx {

constexpr int LANES = 32;
constexpr uint32_t ALL = 0xffffffffu;
constexpr size_t ROW = LANES * 4;  // bytes of a row; a register of 64 bits takes two

struct Warp;
struct Instruction;
using Handler = void (*)(Warp&, const Instruction&);

struct Instruction {
    Handler run = nullptr;
    const uint32_t* at = nullptr;  // of each operand: byte offset of its row, or number of its predicate
    int64_t offset = 0;            // of an address; or what the handler keeps there
    int32_t guard = -1;            // predicate under which it runs, or -1
    bool negated = false;
    Class counted = Class::INTEGER;
    int target = -1;               // of a branch
    int meet = -1;                 // of a branch: where lanes that part are together again; -1: at their end
    int line = 0;
};

// 64 bytes, aligned: half a row.
struct alignas(64) Line {
    char bytes[64];
};

struct Kernel {
    struct Constant { uint32_t row; uint64_t bits; int bytes; };
    struct Special { uint32_t row; std::string name; };
    struct Parameter { uint32_t row; size_t number; int bytes; };

    std::string name;
    KernelInfo info{};
    int target = 0;                      // 90 for sm_90
    std::vector<Instruction> code;
    std::vector<uint32_t> operands;      // what Instruction.at points into
    std::vector<Constant> constants;     // rows with the same value in all lanes
    std::vector<std::pair<size_t, uint32_t>> truths;  // predicates with a fixed value
    std::vector<Special> specials;       // rows of special registers
    std::vector<Parameter> parameters;   // rows of the launch's parameters
    size_t rowBytes = 0;
    size_t predicates = 0;
    size_t sharedBase = 0;
    size_t dynamicBase = 0;              // where dynamic shared memory begins
};

// Lanes of a warp that go the same way, up to where they meet others.
struct Path {
    uint32_t lanes;
    int next;
    int meet;
};

struct AsyncCopy {
    uint32_t to;
    unsigned char bytes[16];
};

// An addition to global memory that other blocks may not see before a fence.
struct Addition {
    uint64_t to;
    float value;
    int warp;
    uint64_t barriers;  // that the block had passed
};

struct Block;

struct Warp {
    Block* block = nullptr;
    int number = 0;
    uint32_t mask = 0;                 // lanes that execute the present instruction
    uint32_t alive = 0;
    int next = 0;                      // index of the instruction after this one
    bool parted = false;               // the present instruction has changed the paths
    std::vector<Line> rows;
    std::vector<uint32_t> predicates;
    std::vector<Path> paths;
    std::vector<std::vector<AsyncCopy>> groups;  // asynchronous copies: the committed groups, then the open one
    const Instruction* waiting = nullptr;        // the barrier that it is at
    bool polls = false;                          // it has read what it waits for, and lets others run
    bool uncounted = false;                      // it is in the loop that polls
    bool votes = false;                          // ... which reduces a predicate: operand 2, to operand 0

    template <class T> T* row(uint32_t at) { return reinterpret_cast<T*>(rows.data()->bytes + at); }
};

struct Block {
    const Kernel* kernel = nullptr;
    const Launch* launch = nullptr;
    Counts* counts = nullptr;
    uint64_t number = 0;
    Extent index{};
    uint64_t barriers = 0;
    SharedMemory shared;
    std::vector<Warp> warps;
    std::vector<Addition> additions;
};

// Makes those additions of a block visible to others that a warp's fence orders: its own, and those before a barrier.
void perform(Block& block, const Warp& fencing);

// Ends the launch: names the kernel, block, warp and line.
[[noreturn]] void fail(const Warp& warp, const Instruction& instruction, const std::string& what);

// The handler of an opcode and what its operands are: a letter for each, p a predicate, h w l a register of 16, 32 or
// 64 bits, i an immediate, s an address in shared memory, g one in global memory, t a label. f and d are registers of
// 32 and 64 bits whose immediates are floating-point numbers.
struct Meaning {
    Handler run = nullptr;
    const char* operands = "";
    Class counted = Class::INTEGER;
};
using Meanings = std::vector<std::pair<const char*, Meaning>>;

Meanings integerMeanings();
Meanings floatMeanings();
Meanings compareMeanings();
Meanings convertMeanings();
Meanings moveMeanings();
Meanings memoryMeanings();
Meanings warpMeanings();
Meanings matrixMeanings();
Meanings flowMeanings();

// ---- loops over lanes; a result may be an operand ----

template <class D, class F> inline void each(Warp& warp, D* d, F value) {
    if (warp.mask == ALL) {
#pragma GCC ivdep
        for (int lane = 0; lane < LANES; ++lane) {
            d[lane] = value(lane);
        }
    } else {
        for (int lane = 0; lane < LANES; ++lane) {
            if ((warp.mask >> lane & 1) != 0) {
                d[lane] = value(lane);
            }
        }
    }
}

template <class D, class A, auto F> void unary(Warp& warp, const Instruction& i) {
    const A* a = warp.row<A>(i.at[1]);
    each(warp, warp.row<D>(i.at[0]), [=](int lane) { return F(a[lane]); });
}

template <class D, class A, class B, auto F> void binary(Warp& warp, const Instruction& i) {
    const A* a = warp.row<A>(i.at[1]);
    const B* b = warp.row<B>(i.at[2]);
    each(warp, warp.row<D>(i.at[0]), [=](int lane) { return F(a[lane], b[lane]); });
}

template <class D, class A, class B, class C, auto F> void ternary(Warp& warp, const Instruction& i) {
    const A* a = warp.row<A>(i.at[1]);
    const B* b = warp.row<B>(i.at[2]);
    const C* c = warp.row<C>(i.at[3]);
    each(warp, warp.row<D>(i.at[0]), [=](int lane) { return F(a[lane], b[lane], c[lane]); });
}

}  // namespace ptx
