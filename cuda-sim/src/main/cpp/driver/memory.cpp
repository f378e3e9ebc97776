#include "memory.h"

#include <sys/mman.h>

#include <cstdlib>
#include <iterator>
#include <map>
#include <vector>

#include "config.h"
#include "errors.h"
#include "shadow.h"

namespace sim {

Arena arena;

namespace {

constexpr size_t PAGE = 4096;
constexpr size_t FENCE = 2 * PAGE;
constexpr size_t OFFSET = 256;  // the alignment that CUDA guarantees and no more, to expose stronger assumptions
constexpr size_t NEARBY = 1 << 16;

struct Pool {
    Address base = 0;
    Address next = 0;
    size_t span = 0;
    size_t used = 0;
};

std::vector<Pool> pools;
std::map<Address, Allocation> allocations;  // by base, with freed ones until their addresses are reused
std::map<Address, size_t> pinned;

size_t pages(size_t bytes) {
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

bool isFree(Address start, size_t span) {
    auto after = allocations.lower_bound(start);
    if (after != allocations.begin()) {
        const Allocation& before = std::prev(after)->second;
        if (before.live && before.base + before.bytes > start) {
            return false;
        }
    }
    for (; after != allocations.end() && after->first < start + span; ++after) {
        if (after->second.live) {
            return false;
        }
    }
    return true;
}

// The first free addresses at or after the pool's cursor, then from its start.
Address place(Pool& pool, size_t span) {
    for (int round = 0; round < 2; ++round) {
        for (Address a = pool.next; a + span <= pool.base + pool.span;) {
            if (isFree(a, span)) {
                pool.next = a + span;
                return a;
            }
            auto blocking = allocations.upper_bound(a + span - 1);
            const Allocation& last = std::prev(blocking)->second;
            a = pages(last.base + last.bytes) + FENCE;
        }
        pool.next = pool.base;
    }
    refuse(OUT_OF_MEMORY, "the addresses of the device's memory are in pieces too small");
}

void forgetFreed(Address start, size_t span) {
    auto first = allocations.lower_bound(start);
    while (first != allocations.end() && first->first < start + span) {
        first = allocations.erase(first);
    }
}

const Allocation* before(Address a) {
    auto after = allocations.upper_bound(a);
    return after == allocations.begin() ? nullptr : &std::prev(after)->second;
}

}  // namespace

void reserveMemory() {
    size_t devices = config().devices.size();
    size_t span = pages(2 * config().memory + (size_t{1} << 30));
    if (devices == 0) {
        return;
    }
    void* range = mmap(nullptr, devices * span, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) {
        refuse(OUT_OF_MEMORY, "no addresses for the memory of the simulated devices");
    }
    arena = {reinterpret_cast<Address>(range), devices * span};
    for (size_t i = 0; i < devices; ++i) {
        pools.push_back({arena.base + i * span, arena.base + i * span, span, 0});
    }
    reserveShadow(arena);
}

Address allocate(int device, size_t bytes) {
    static long count = 0;
    Pool& pool = pools.at(device);
    if (bytes == 0) {
        refuse(INVALID_VALUE, "an allocation of 0 bytes");
    }
    if (++count == config().failingAllocation || bytes > config().memory - pool.used) {
        refuse(OUT_OF_MEMORY, format("out of memory: %zu bytes asked for, %zu free of %zu", bytes,
            config().memory - pool.used, config().memory));
    }
    size_t span = pages(OFFSET + bytes) + 2 * FENCE;
    Address start = place(pool, span);
    forgetFreed(start, span);
    Address base = start + FENCE + OFFSET;
    allocations[base] = {base, bytes, device, true};
    pool.used += bytes;
    return base;
}

void release(Address base) {
    auto found = allocations.find(base);
    if (found == allocations.end() || !found->second.live) {
        refuse(INVALID_VALUE, "freed what is no allocation: " + describe(base));
    }
    Allocation& allocation = found->second;
    allocation.live = false;
    pools[allocation.device].used -= allocation.bytes;
    forgetShadow(allocation.base, allocation.bytes);
    madvise(reinterpret_cast<void*>(base - OFFSET), pages(OFFSET + allocation.bytes), MADV_DONTNEED);
}

void releaseAll(int device) {
    for (auto& [base, allocation] : allocations) {
        if (allocation.live && allocation.device == device) {
            release(base);
        }
    }
}

size_t usedMemory(int device) {
    return pools.at(device).used;
}

const Allocation* allocationAt(Address a) {
    const Allocation* found = before(a);
    return found != nullptr && found->live && a - found->base < found->bytes ? found : nullptr;
}

std::string describe(Address a) {
    if (a == 0) {
        return "a null pointer";
    }
    if (!arena.holds(a)) {
        return isPinned(reinterpret_cast<void*>(a), 1) ? format("%#zx, pinned memory of the host", a)
            : format("%#zx, not memory of a device (a host pointer?)", a);
    }
    const Allocation* at = before(a);
    if (at != nullptr && a - at->base < at->bytes + NEARBY) {
        return format("byte %zu of %s allocation of %zu bytes", a - at->base, at->live ? "an" : "a freed", at->bytes);
    }
    auto next = allocations.upper_bound(a);
    if (next != allocations.end() && next->first - a < NEARBY) {
        return format("byte -%zu of an allocation of %zu bytes", next->first - a, next->second.bytes);
    }
    return format("%#zx, device memory that was never allocated", a);
}

const Allocation& deviceRange(Address a, size_t bytes, const char* what) {
    const Allocation* found = allocationAt(a);
    if (found == nullptr) {
        refuse(INVALID_VALUE, std::string(what) + " is " + describe(a));
    }
    if (bytes > found->bytes - (a - found->base)) {
        refuse(INVALID_VALUE, format("%s runs to %s", what, describe(a + bytes - 1).c_str()));
    }
    return *found;
}

void* allocatePinned(size_t bytes) {
    void* base = nullptr;
    if (bytes == 0 || posix_memalign(&base, PAGE, pages(bytes)) != 0) {
        refuse(bytes == 0 ? INVALID_VALUE : OUT_OF_MEMORY, format("%zu bytes of pinned memory", bytes));
    }
    pinned[reinterpret_cast<Address>(base)] = bytes;
    return base;
}

void releasePinned(void* base) {
    if (pinned.erase(reinterpret_cast<Address>(base)) == 0) {
        refuse(INVALID_VALUE, "freed as pinned memory: " + describe(reinterpret_cast<Address>(base)));
    }
    free(base);
}

bool isPinned(const void* address, size_t bytes) {
    Address a = reinterpret_cast<Address>(address);
    auto after = pinned.upper_bound(a);
    if (after == pinned.begin()) {
        return false;
    }
    auto [base, size] = *std::prev(after);
    return a - base < size && bytes <= size - (a - base);
}

}  // namespace sim
