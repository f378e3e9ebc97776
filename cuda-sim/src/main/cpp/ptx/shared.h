// A block's shared memory: each byte is unwritten, written or the target of an asynchronous copy, and each word has its
// last writer and readers, so that an access that no barrier orders is an error whatever the order of warps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ptx {

class SharedMemory {
public:
    // Bytes below `base` do not exist.
    void open(size_t base, size_t bytes);

    // Each returns what is wrong, or an empty text. `interval` is the number of barriers that the block has passed.
    const char* read(uint32_t at, unsigned bytes, int warp, uint32_t interval, void* to);
    const char* write(uint32_t at, unsigned bytes, int warp, uint32_t interval, const void* from);
    const char* startCopy(uint32_t at, unsigned bytes, int warp, uint32_t interval);
    void endCopy(uint32_t at, unsigned bytes, int warp, uint32_t interval, const void* from);

private:
    static constexpr int16_t NOT = -1;
    struct Word {
        uint32_t written;       // interval of the last write
        uint32_t read;          // ... and read
        int16_t writer;
        int16_t reader;         // SEVERAL: several warps in this interval
        uint8_t valid;          // bits of bytes that are written
        uint8_t pending;        // ... that a copy will write
    };
    static constexpr int16_t SEVERAL = 2000;

    size_t base = 0;
    std::vector<unsigned char> bytes;
    std::vector<Word> words;

    const char* place(uint32_t at, unsigned bytes) const;
};

}  // namespace ptx
