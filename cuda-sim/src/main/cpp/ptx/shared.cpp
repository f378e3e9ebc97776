#include "shared.h"

#include <cstring>

namespace ptx {
namespace {

constexpr unsigned WORD = 4;

// The bits of the bytes of a word that an access touches.
uint8_t maskOf(uint32_t at, unsigned bytes) {
    return static_cast<uint8_t>(bytes >= WORD ? 0xf : ((1u << bytes) - 1) << (at % WORD));
}

}  // namespace

void SharedMemory::open(size_t first, size_t count) {
    base = first;
    bytes.assign(first + count, 0xff);
    words.assign((first + count + WORD - 1) / WORD, Word{0, 0, NOT, NOT, 0, 0});
}

const char* SharedMemory::place(uint32_t at, unsigned count) const {
    if (at % count != 0) {
        return "a misaligned address in shared memory";
    }
    return at < base || at + count > bytes.size() ? "an address outside shared memory" : nullptr;
}

const char* SharedMemory::read(uint32_t at, unsigned count, int warp, uint32_t interval, void* to) {
    if (const char* wrong = place(at, count)) {
        return wrong;
    }
    uint8_t mask = maskOf(at, count);
    for (uint32_t w = at / WORD; w < (at + count + WORD - 1) / WORD; ++w) {
        Word& word = words[w];
        if ((word.pending & mask) != 0) {
            return "a read of shared memory whose asynchronous copy was not waited for";
        }
        if ((word.valid & mask) != mask) {
            return "a read of shared memory that nothing wrote";
        }
        if (word.written == interval && word.writer != warp) {
            return "a read of shared memory that another warp wrote, with no barrier between";
        }
        word.reader = word.read == interval && word.reader != NOT && word.reader != warp ? SEVERAL
            : static_cast<int16_t>(warp);
        word.read = interval;
    }
    memcpy(to, bytes.data() + at, count);
    return nullptr;
}

const char* SharedMemory::write(uint32_t at, unsigned count, int warp, uint32_t interval, const void* from) {
    if (const char* wrong = startCopy(at, count, warp, interval)) {
        return wrong;
    }
    endCopy(at, count, warp, interval, from);
    return nullptr;
}

const char* SharedMemory::startCopy(uint32_t at, unsigned count, int warp, uint32_t interval) {
    if (const char* wrong = place(at, count)) {
        return wrong;
    }
    uint8_t mask = maskOf(at, count);
    for (uint32_t w = at / WORD; w < (at + count + WORD - 1) / WORD; ++w) {
        Word& word = words[w];
        if ((word.pending & mask) != 0) {
            return "a write to shared memory to which an asynchronous copy is under way";
        }
        if (word.written == interval && word.writer != NOT && word.writer != warp) {
            return "a write to shared memory that another warp wrote, with no barrier between";
        }
        if (word.read == interval && word.reader != NOT && word.reader != warp) {
            return "a write to shared memory that another warp read, with no barrier between";
        }
        word.pending |= mask;
        word.valid &= static_cast<uint8_t>(~mask);
        word.written = interval;
        word.writer = static_cast<int16_t>(warp);
    }
    return nullptr;
}

void SharedMemory::endCopy(uint32_t at, unsigned count, int warp, uint32_t interval, const void* from) {
    uint8_t mask = maskOf(at, count);
    for (uint32_t w = at / WORD; w < (at + count + WORD - 1) / WORD; ++w) {
        Word& word = words[w];
        word.pending &= static_cast<uint8_t>(~mask);
        word.valid |= mask;
        word.written = interval;
        word.writer = static_cast<int16_t>(warp);
    }
    memcpy(bytes.data() + at, from, count);
}

}  // namespace ptx
