#include "shared.h"

#include <sys/mman.h>

#include <cstring>

#include "block.h"

namespace sim {

SharedRange staticRange;
SharedRange dynamicRange;

namespace {

constexpr uint32_t IN_FLIGHT = UINT32_MAX;  // as a time of writing: an asynchronous copy has not arrived
constexpr size_t FENCE = 64 << 10;

// Times are counted by each warp; they rise when its lanes, or its block, meet.
struct Cell {
    uint32_t written = 0;     // when, by the writer's warp; 0: never
    uint32_t read = 0;        // when it was last read
    uint32_t readOther = 0;   // when a lane of another warp than the last reader's read it
    uint16_t writer = 0;      // thread
    uint16_t reader = 0;      // thread
    uint8_t otherWarp = 0;
    bool severalLanes = false;  // several lanes of the last reader's warp read it at that time
    bool atomic = false;
    uint8_t unused = 0;  // without padding, equal cells have equal bytes
};
static_assert(sizeof(Cell) == 20);

constexpr size_t CELLS = 256 << 10;
Cell* cells[2];                            // of static and of dynamic shared memory
uint32_t now[MOST_THREADS / WARP];         // per warp
uint32_t sinceBarrier[MOST_THREADS / WARP];
uint32_t sinceBlock[MOST_THREADS / WARP];

Failure unwritten;
bool anyUnwritten = false;

struct Access {
    uint16_t thread;
    int warp;
    Use use;
};

bool happenedSince(uint32_t time, int warp) {
    return time >= sinceBarrier[warp] && time != 0;
}

// Whether an access by `thread` at `time` is not ordered before that of `access`.
bool unordered(const Access& access, uint16_t thread, uint32_t time) {
    int warp = thread / WARP;
    if (warp != access.warp) {
        return happenedSince(time, warp);
    }
    return thread != access.thread && time == now[warp];
}

constexpr int NO_ONE = -1;

int conflictWithReaders(const Cell& cell, const Access& access) {
    if (cell.read != 0 && unordered(access, cell.reader, cell.read)) {
        return cell.reader;
    }
    if (cell.read != 0 && cell.severalLanes && cell.reader / WARP == access.warp && cell.read == now[access.warp]) {
        return cell.reader;
    }
    if (cell.readOther != 0 && cell.otherWarp != access.warp && happenedSince(cell.readOther, cell.otherWarp)) {
        return cell.otherWarp * WARP;
    }
    return NO_ONE;
}

void noteReader(Cell& cell, const Access& access) {
    int before = cell.reader / WARP;
    if (cell.read != 0 && before != access.warp && happenedSince(cell.read, before)) {
        cell.readOther = cell.read;
        cell.otherWarp = static_cast<uint8_t>(before);
    }
    cell.severalLanes = cell.read == now[access.warp] && before == access.warp
        && (cell.severalLanes || cell.reader != access.thread);
    cell.read = now[access.warp];
    cell.reader = access.thread;
}

enum class Kind { STATIC, DYNAMIC };

// A byte of shared memory and the instruction that touches it, for messages.
struct Spot {
    size_t offset;
    Kind kind;
    const void* pc;
    std::string name() const {
        return kind == Kind::STATIC ? staticSharedName(*launch.kernel, offset)
            : format("byte %zu of the dynamic shared memory", offset);
    }
};

[[noreturn]] void race(int other, const char* verb, const Spot& spot) {
    anyUnwritten = false;
    bool sameWarp = other / WARP == self->warp();
    failThreadAt(LAUNCH_FAILED, format("race on %s: this thread %s it, thread %d touched it and no %s "
        "stands between", spot.name().c_str(), verb, other, sameWarp ? "__syncwarp" : "__syncthreads"), spot.pc);
}

void check(Cell& cell, const Access& access, const Spot& spot) {
    bool reads = access.use == Use::READ || access.use == Use::ATOMIC;
    const char* verb = access.use == Use::READ ? "reads" : "writes";
    if (cell.written == IN_FLIGHT && access.use != Use::ASYNC_END) {
        failThreadAt(LAUNCH_FAILED, format("%s %s, which cp_async of thread %d still fills: "
            "cp_async_wait is missing", verb, spot.name().c_str(), cell.writer), spot.pc);
    }
    bool written = cell.written >= sinceBlock[cell.writer / WARP] && cell.written != 0;
    if (reads && !written && !anyUnwritten) {
        unwritten = failureAt(LAUNCH_FAILED, "reads " + spot.name() + ", which nothing wrote", spot.pc);
        anyUnwritten = true;
    }
    bool bothAtomic = cell.atomic && access.use == Use::ATOMIC;
    if (written && access.use != Use::ASYNC_END && !bothAtomic && unordered(access, cell.writer, cell.written)) {
        race(cell.writer, verb, spot);
    }
    if (access.use == Use::READ) {
        noteReader(cell, access);
        return;
    }
    int reader = conflictWithReaders(cell, access);
    if (reader != NO_ONE) {
        race(reader, verb, spot);
    }
    cell.written = access.use == Use::ASYNC_BEGIN ? IN_FLIGHT : now[access.warp];
    cell.writer = access.thread;
    cell.atomic = access.use == Use::ATOMIC;
}

}  // namespace

void reserveShared() {
    size_t bytes = MOST_SHARED + 2 * FENCE;
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    dynamicRange.base = reinterpret_cast<uintptr_t>(memory) + FENCE;
    cells[0] = new Cell[CELLS];
    cells[1] = new Cell[CELLS];
    for (int w = 0; w < MOST_THREADS / WARP; ++w) {
        now[w] = sinceBarrier[w] = sinceBlock[w] = 1;
    }
}

void openShared() {
    StaticShared own = staticShared(*launch.kernel);
    staticRange = {own.base, own.bytes};
    dynamicRange.bytes = launch.dynamicShared;
}

void beginShared() {
    anyUnwritten = false;
    for (int w = 0; w < MOST_THREADS / WARP; ++w) {
        sinceBlock[w] = sinceBarrier[w] = ++now[w];
    }
}

void forgetShared(uintptr_t a, size_t bytes) {
    bool fixed = a - staticRange.base < staticRange.bytes;
    Cell* first = cells[fixed ? 0 : 1] + (a - (fixed ? staticRange : dynamicRange).base);
    for (size_t i = 0; i < bytes; ++i) {
        first[i].written = 0;
    }
}

const Failure* unwrittenRead() {
    return anyUnwritten ? &unwritten : nullptr;
}

void blockMet() {
    if (anyUnwritten) {
        failBlock(unwritten);
    }
    for (int w = 0; w < MOST_THREADS / WARP; ++w) {
        sinceBarrier[w] = ++now[w];
    }
}

void warpMet(int warp) {
    ++now[warp];
}

bool nearShared(uintptr_t a) {
    return a - (dynamicRange.base - FENCE) < MOST_SHARED + 2 * FENCE || a - staticRange.base < staticRange.bytes;
}

void noteShared(uintptr_t a, size_t bytes, Use use, const void* pc) {
    bool fixed = a - staticRange.base < staticRange.bytes;
    const SharedRange& range = fixed ? staticRange : dynamicRange;
    size_t offset = a - range.base;
    if (offset >= range.bytes || bytes > range.bytes - offset) {
        failThreadAt(ILLEGAL_ADDRESS, format("%s byte %td of %zu bytes of %s shared memory", use == Use::READ ? "reads"
            : "writes", static_cast<ptrdiff_t>(offset), range.bytes, fixed ? "static" : "dynamic"), pc);
    }
    Access access{static_cast<uint16_t>(self->number), self->warp(), use};
    Cell* first = cells[fixed ? 0 : 1] + offset;
    Cell before = *first;
    for (size_t i = 0; i < bytes; ++i) {
        if (i > 0 && memcmp(first + i, &before, sizeof(Cell)) == 0) {
            first[i] = *first;  // bytes with the same history get the same result
        } else {
            check(first[i], access, {offset + i, fixed ? Kind::STATIC : Kind::DYNAMIC, pc});
        }
    }
}

}  // namespace sim
