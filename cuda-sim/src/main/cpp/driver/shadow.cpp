#include "shadow.h"

#include <sys/mman.h>

#include <algorithm>

#include "block.h"
#include "config.h"
#include "errors.h"
#include "history.h"
#include "streams.h"

namespace sim {
namespace {

constexpr size_t WORD = 4;

struct Cell {
    uint32_t writer;          // operation; 0: none
    uint32_t writerThread;
    uint32_t reader;
    uint32_t readerThread;
    uint16_t writerInterval;
    uint16_t readerInterval;
    uint8_t written;          // a bit for each byte that has been written
    uint8_t latest;           // the bytes of the last write
    uint8_t latestRead;       // the bytes of the last read
    bool atomicWrite;
};

Cell* cells = nullptr;
Address origin = 0;

Cell& cellOf(Address a) {
    return cells[(a - origin) / WORD];
}

// The bits of the bytes of the word at `word` that lie in [a, a + bytes).
uint8_t maskOf(Address word, Address a, size_t bytes) {
    unsigned from = word < a ? static_cast<unsigned>(a - word) : 0;
    unsigned to = static_cast<unsigned>(std::min<Address>(WORD, a + bytes - word));
    return static_cast<uint8_t>(((1u << to) - 1) & ~((1u << from) - 1));
}

// Whether nothing orders the two threads of one launch, whose accesses conflict: they are of different blocks, unless a
// fence and an atomic may have done it, or of different warps of one block with no barrier between.
bool races(const Actor& actor, uint32_t thread, uint16_t interval) {
    if (thread == actor.thread || thread == Actor::NO_THREAD || actor.thread == Actor::NO_THREAD) {
        return false;
    }
    uint32_t block = thread / actor.blockThreads;
    if (block != actor.thread / actor.blockThreads) {
        return !handedOver(block);
    }
    bool sameWarp = thread % actor.blockThreads / WARP == actor.thread % actor.blockThreads / WARP;
    return !sameWarp && interval == static_cast<uint16_t>(actor.interval);
}

bool racesWithWrite(const Cell& cell, const Actor& actor, uint8_t mask) {
    return cell.writer == actor.operation && (cell.latest & mask) != 0
        && !(actor.atomic && cell.atomicWrite) && races(actor, cell.writerThread, cell.writerInterval);
}

bool racesWithRead(const Cell& cell, const Actor& actor, uint8_t mask) {
    return cell.reader == actor.operation && (cell.latestRead & mask) != 0 && actor.thread != Actor::NO_THREAD
        && races(actor, cell.readerThread, cell.readerInterval);
}

Finding checkRead(Cell& cell, Address word, const Actor& actor, uint8_t mask) {
    if ((cell.written & mask) != mask) {
        return {Trouble::UNWRITTEN, word, 0};
    }
    if (cell.writer == actor.operation) {
        if (racesWithWrite(cell, actor, mask)) {
            return {Trouble::RACE, word, cell.writerThread};
        }
    } else if (!ordered(cell.writer)) {
        return {Trouble::UNORDERED, word, cell.writer};
    }
    if (actor.atomic) {
        return {};
    }
    cell.reader = actor.operation;
    cell.readerThread = actor.thread;
    cell.readerInterval = static_cast<uint16_t>(actor.interval);
    cell.latestRead = mask;
    return {};
}

Finding checkWrite(Cell& cell, Address word, const Actor& actor, uint8_t mask) {
    if (cell.writer == actor.operation) {
        if (racesWithWrite(cell, actor, mask)) {
            return {Trouble::RACE, word, cell.writerThread};
        }
    } else if (cell.writer != 0 && !ordered(cell.writer)) {
        return {Trouble::UNORDERED, word, cell.writer};
    }
    if (cell.reader != 0) {
        if (cell.reader != actor.operation && !ordered(cell.reader)) {
            return {Trouble::UNORDERED, word, cell.reader};
        }
        if (racesWithRead(cell, actor, mask)) {
            return {Trouble::RACE, word, cell.readerThread};
        }
    }
    cell.writer = actor.operation;
    cell.writerThread = actor.thread;
    cell.writerInterval = static_cast<uint16_t>(actor.interval);
    cell.latest = mask;
    cell.written |= mask;
    cell.atomicWrite = actor.atomic;
    return {};
}

template <typename Check>
Finding eachWord(Address a, size_t bytes, const Actor& actor, Check check) {
    for (Address word = a / WORD * WORD; word < a + bytes; word += WORD) {
        Finding finding = check(cellOf(word), word, actor, maskOf(word, a, bytes));
        if (finding.trouble != Trouble::NONE) {
            return finding;
        }
    }
    return {};
}

}  // namespace

void reserveShadow(const Arena& range) {
    void* memory = mmap(nullptr, range.bytes / WORD * sizeof(Cell), PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
        refuse(OUT_OF_MEMORY, "no addresses for the records of device memory");
    }
    cells = static_cast<Cell*>(memory);
    origin = range.base;
}

void forgetShadow(Address base, size_t bytes) {
    Cell* first = &cellOf(base);
    Cell* end = &cellOf(base + bytes - 1) + 1;
    constexpr Address PAGE = 4096;
    Address from = (reinterpret_cast<Address>(first) + PAGE - 1) / PAGE * PAGE;
    Address to = reinterpret_cast<Address>(end) / PAGE * PAGE;
    if (from >= to) {
        std::fill(first, end, Cell{});
        return;
    }
    for (Cell* cell = first; reinterpret_cast<Address>(cell) < from; ++cell) {
        *cell = {};
    }
    for (Cell* cell = end - 1; cell >= first && reinterpret_cast<Address>(cell + 1) > to; --cell) {
        *cell = {};
    }
    madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
}

Finding noteRead(Address a, size_t bytes, const Actor& actor) {
    return eachWord(a, bytes, actor, checkRead);
}

Finding noteWrite(Address a, size_t bytes, const Actor& actor) {
    return eachWord(a, bytes, actor, checkWrite);
}

void copyWritten(Address to, Address from, size_t bytes) {
    for (size_t i = 0; i < bytes; ++i) {
        bool written = cellOf(from + i).written >> ((from + i) % WORD) & 1;
        uint8_t bit = static_cast<uint8_t>(1u << ((to + i) % WORD));
        Cell& cell = cellOf(to + i);
        cell.written = static_cast<uint8_t>(written ? cell.written | bit : cell.written & ~bit);
    }
}

}  // namespace sim
