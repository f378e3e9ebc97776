// Loads, stores, atomic operations and asynchronous copies.
#include <array>
#include <bit>

#include "traffic.h"

namespace ptx {
namespace {

using Addresses = std::array<uint64_t, LANES>;
using SharedAddresses = std::array<uint32_t, LANES>;

Addresses globalOf(Warp& warp, const Instruction& i, int operand) {
    Addresses addresses;
    const uint64_t* base = warp.row<uint64_t>(i.at[operand]);
    for (int lane = 0; lane < LANES; ++lane) {
        addresses[lane] = base[lane] + static_cast<uint64_t>(i.offset);
    }
    return addresses;
}

SharedAddresses sharedOf(Warp& warp, const Instruction& i, int operand) {
    SharedAddresses addresses;
    const uint32_t* base = warp.row<uint32_t>(i.at[operand]);
    for (int lane = 0; lane < LANES; ++lane) {
        addresses[lane] = base[lane] + static_cast<uint32_t>(i.offset);
    }
    return addresses;
}

// T into N registers of type R each.
template <class T, int N, class R = T> void loadGlobal(Warp& warp, const Instruction& i) {
    Addresses from = globalOf(warp, i, N);
    checkGlobal(warp, i, from.data(), warp.mask, N * sizeof(T), Use::READ);
    for (int lane = 0; lane < LANES; ++lane) {
        if ((warp.mask >> lane & 1) != 0) {
            T values[N];
            memcpy(values, reinterpret_cast<const void*>(from[lane]), sizeof values);
            for (int n = 0; n < N; ++n) {
                warp.row<R>(i.at[n])[lane] = values[n];
            }
        }
    }
}

template <class T, int N, class R = T> void storeGlobal(Warp& warp, const Instruction& i) {
    Addresses to = globalOf(warp, i, 0);
    checkGlobal(warp, i, to.data(), warp.mask, N * sizeof(T), Use::WRITE);
    for (int lane = 0; lane < LANES; ++lane) {
        if ((warp.mask >> lane & 1) != 0) {
            T values[N];
            for (int n = 0; n < N; ++n) {
                values[n] = static_cast<T>(warp.row<R>(i.at[1 + n])[lane]);
            }
            memcpy(reinterpret_cast<void*>(to[lane]), values, sizeof values);
        }
    }
}

template <class T, int N, class R = T> void loadShared(Warp& warp, const Instruction& i) {
    Block& block = *warp.block;
    SharedAddresses from = sharedOf(warp, i, N);
    for (int lane = 0; lane < LANES; ++lane) {
        if ((warp.mask >> lane & 1) != 0) {
            T values[N];
            checkShared(warp, i, block.shared.read(from[lane], sizeof values, warp.number,
                static_cast<uint32_t>(block.barriers), values));
            for (int n = 0; n < N; ++n) {
                warp.row<R>(i.at[n])[lane] = static_cast<R>(values[n]);
            }
        }
    }
    countShared(*block.counts, from.data(), warp.mask, N * sizeof(T));
}

template <class T, int N> void storeShared(Warp& warp, const Instruction& i) {
    Block& block = *warp.block;
    SharedAddresses to = sharedOf(warp, i, 0);
    for (int lane = 0; lane < LANES; ++lane) {
        if ((warp.mask >> lane & 1) != 0) {
            T values[N];
            for (int n = 0; n < N; ++n) {
                values[n] = warp.row<T>(i.at[1 + n])[lane];
            }
            checkShared(warp, i, block.shared.write(to[lane], sizeof values, warp.number,
                static_cast<uint32_t>(block.barriers), values));
        }
    }
    countShared(*block.counts, to.data(), warp.mask, N * sizeof(T));
}

// The old value is returned; lanes take turns in their order.
template <class T, auto F> void atomicGlobal(Warp& warp, const Instruction& i) {
    Addresses at = globalOf(warp, i, 1);
    checkGlobal(warp, i, at.data(), warp.mask, sizeof(T), Use::ATOMIC);
    for (int lane = 0; lane < LANES; ++lane) {
        if ((warp.mask >> lane & 1) != 0) {
            T* value = reinterpret_cast<T*>(at[lane]);
            T old = *value;
            *value = F(old, warp.row<T>(i.at[2])[lane]);
            warp.row<T>(i.at[0])[lane] = old;
        }
    }
}

// Additions without a result; others see them after a fence, or at the end of the launch.
void addPair(Warp& warp, const Instruction& i) {
    Addresses at = globalOf(warp, i, 0);
    checkGlobal(warp, i, at.data(), warp.mask, 2 * sizeof(float), Use::ATOMIC);
    Block& block = *warp.block;
    for (int lane = 0; lane < LANES; ++lane) {
        for (int n = 0; n < 2 && (warp.mask >> lane & 1) != 0; ++n) {
            block.additions.push_back({at[lane] + n * sizeof(float), warp.row<float>(i.at[1 + n])[lane], warp.number,
                block.barriers});
        }
    }
}

void addCounter(Warp& warp, const Instruction& i) {
    Addresses at = globalOf(warp, i, 0);
    checkGlobal(warp, i, at.data(), warp.mask, sizeof(uint32_t), Use::ATOMIC);
    for (int lane = 0; lane < LANES; ++lane) {
        if ((warp.mask >> lane & 1) != 0) {
            *reinterpret_cast<uint32_t*>(at[lane]) += warp.row<uint32_t>(i.at[1])[lane];
        }
    }
}

void loadCounter(Warp& warp, const Instruction& i) {
    Addresses at = globalOf(warp, i, 1);
    checkGlobal(warp, i, at.data(), warp.mask, sizeof(uint32_t), Use::ATOMIC);
    each(warp, warp.row<uint32_t>(i.at[0]), [&](int lane) { return *reinterpret_cast<uint32_t*>(at[lane]); });
}

// Part of a loop that waits for another block, so that others run now. How often it runs depends on their order; it is
// not counted, up to its branch.
void poll(Warp& warp, const Instruction& i) {
    Counts& counts = *warp.block->counts;
    Counts before = counts;
    loadCounter(warp, i);
    counts = before;
    --counts.instructions[static_cast<int>(i.counted)];
    warp.uncounted = true;
    warp.polls = true;
    warp.parted = true;
    warp.paths.back().next = warp.next;
}

void fence(Warp& warp, const Instruction&) { perform(*warp.block, warp); }

template <class T> T sum(T old, T value) { return old + value; }
template <class T> T exchanged(T, T value) { return value; }
template <class T> T most(T old, T value) { return old > value ? old : value; }

// 16 bytes from global memory, of which the first `size` are read and the others zero.
void copyAsync(Warp& warp, const Instruction& i) {
    constexpr unsigned BYTES = 16;
    Block& block = *warp.block;
    const uint32_t* to = warp.row<uint32_t>(i.at[0]);
    const uint64_t* from = warp.row<uint64_t>(i.at[1]);
    const uint32_t* size = warp.row<uint32_t>(i.at[3]);
    uint32_t reading = 0;
    for (int lane = 0; lane < LANES; ++lane) {
        bool reads = (warp.mask >> lane & 1) != 0 && size[lane] != 0;
        reading |= static_cast<uint32_t>(reads) << lane;
        if (reads && size[lane] != BYTES) {
            fail(warp, i, "a copy of neither 0 nor 16 bytes is not known");
        }
    }
    if (i.offset != BYTES) {
        fail(warp, i, "a copy to other than 16 bytes is not known");
    }
    checkGlobal(warp, i, from, reading, BYTES, Use::READ);
    for (int lane = 0; lane < LANES; ++lane) {
        if ((warp.mask >> lane & 1) == 0) {
            continue;
        }
        checkShared(warp, i, block.shared.startCopy(to[lane], BYTES, warp.number,
            static_cast<uint32_t>(block.barriers)));
        AsyncCopy copy{to[lane], {}};
        if ((reading >> lane & 1) != 0) {
            memcpy(copy.bytes, reinterpret_cast<const void*>(from[lane]), BYTES);
        }
        warp.groups.back().push_back(copy);
    }
    countShared(*block.counts, to, warp.mask, BYTES);
}

void needWhole(Warp& warp, const Instruction& i) {
    if (warp.mask != warp.alive) {
        fail(warp, i, "groups of copies that differ between the lanes of a warp are not known");
    }
}

void commit(Warp& warp, const Instruction& i) {
    needWhole(warp, i);
    warp.groups.emplace_back();
}

// Waits until at most the given number of committed groups are under way. Later groups stay unwritten as long as the
// ISA allows.
void waitForGroups(Warp& warp, const Instruction& i) {
    needWhole(warp, i);
    while (warp.groups.size() > static_cast<size_t>(i.offset) + 1) {
        for (const AsyncCopy& copy : warp.groups.front()) {
            warp.block->shared.endCopy(copy.to, sizeof copy.bytes, warp.number,
                static_cast<uint32_t>(warp.block->barriers), copy.bytes);
        }
        warp.groups.erase(warp.groups.begin());
    }
}

#define LOADS(type, T, n, letters) \
    {"ld.global" type, {loadGlobal<T, n>, letters "g", Class::GLOBAL}}, \
    {"ld.global.nc" type, {loadGlobal<T, n>, letters "g", Class::GLOBAL}}, \
    {"ld.shared" type, {loadShared<T, n>, letters "s", Class::SHARED}}
#define STORES(type, T, n, letters) \
    {"st.global" type, {storeGlobal<T, n>, "g" letters, Class::GLOBAL}}, \
    {"st.shared" type, {storeShared<T, n>, "s" letters, Class::SHARED}}
#define BOTH(type, T, n, letters) LOADS(type, T, n, letters), STORES(type, T, n, letters)
#define VECTORS(type, T, letter) \
    BOTH("." type, T, 1, letter), BOTH(".v2." type, T, 2, letter letter), \
    BOTH(".v4." type, T, 4, letter letter letter letter)

}  // namespace

Meanings memoryMeanings() {
    return {
        VECTORS("u16", uint16_t, "h"), VECTORS("b16", uint16_t, "h"), VECTORS("u32", uint32_t, "w"),
        VECTORS("b32", uint32_t, "w"), VECTORS("f32", uint32_t, "f"), BOTH(".u64", uint64_t, 1, "l"),
        BOTH(".b64", uint64_t, 1, "l"), BOTH(".f64", uint64_t, 1, "d"), BOTH(".v2.u64", uint64_t, 2, "ll"),
        BOTH(".v2.f64", uint64_t, 2, "dd"),
        {"ld.global.u16 extended", {loadGlobal<uint16_t, 1, uint32_t>, "wg", Class::GLOBAL}},
        {"ld.shared.s32", {loadShared<int32_t, 1, int64_t>, "ls", Class::SHARED}},  // extended
        {"ld.shared.u32 extended", {loadShared<uint32_t, 1, uint64_t>, "ls", Class::SHARED}},
        {"ld.global.u8", {loadGlobal<uint8_t, 1, uint16_t>, "hg", Class::GLOBAL}},
        {"st.global.u8", {storeGlobal<uint8_t, 1, uint16_t>, "gh", Class::GLOBAL}},
        {"atom.global.add.f32", {atomicGlobal<float, sum<float>>, "fgf", Class::GLOBAL}},
        {"atom.global.add.u32", {atomicGlobal<uint32_t, sum<uint32_t>>, "wgw", Class::GLOBAL}},
        {"atom.global.max.s32", {atomicGlobal<int32_t, most<int32_t>>, "wgw", Class::GLOBAL}},
        {"atom.global.exch.b32", {atomicGlobal<uint32_t, exchanged<uint32_t>>, "wgw", Class::GLOBAL}},
        {"atom.global.exch.b64", {atomicGlobal<uint64_t, exchanged<uint64_t>>, "lgl", Class::GLOBAL}},
        {"red.global.add.v2.f32", {addPair, "gff", Class::GLOBAL}},
        {"red.relaxed.gpu.global.add.s32", {addCounter, "gw", Class::GLOBAL}},
        {"ld.acquire.gpu.global.s32", {poll, "wg", Class::GLOBAL}},
        {"fence.acq_rel.gpu", {fence, "", Class::BARRIER}},
        {"cp.async.cg.shared.global", {copyAsync, "sgiw", Class::ASYNC}},
        {"cp.async.commit_group", {commit, "", Class::ASYNC}},
        {"cp.async.wait_group", {waitForGroups, "i", Class::ASYNC}},
    };
}

}  // namespace ptx
