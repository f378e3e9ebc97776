#include "traffic.h"

#include <algorithm>
#include <array>

namespace ptx {
namespace {

constexpr unsigned SECTOR = 32;
constexpr unsigned WORD = 4;
constexpr unsigned BANKS = 32;

// The distinct numbers among the first n, sorted to the front; returns how many.
template <class T> int distinct(T* numbers, int n) {
    std::sort(numbers, numbers + n);
    return static_cast<int>(std::unique(numbers, numbers + n) - numbers);
}

}  // namespace

void countGlobal(Counts& counts, const uint64_t* addresses, uint32_t mask, unsigned bytes) {
    std::array<uint64_t, LANES> starts;
    int n = 0;
    for (int lane = 0; lane < LANES; ++lane) {
        if ((mask >> lane & 1) != 0) {
            starts[n++] = addresses[lane];
        }
    }
    n = distinct(starts.data(), n);
    std::array<uint64_t, LANES> sectors;  // an aligned access lies in one
    for (int i = 0; i < n; ++i) {
        sectors[i] = starts[i] / SECTOR;
    }
    counts.sectors += static_cast<uint64_t>(distinct(sectors.data(), n));
    counts.leastSectors += (static_cast<uint64_t>(n) * bytes + SECTOR - 1) / SECTOR;
}

// A quarter of a warp at a time accesses 16 bytes a lane, and half a warp 8 bytes. A bank serves one word at a time.
void countShared(Counts& counts, const uint32_t* addresses, uint32_t mask, unsigned bytes) {
    int lanesAtOnce = bytes <= WORD ? LANES : LANES * static_cast<int>(WORD) / static_cast<int>(bytes);
    for (int first = 0; first < LANES; first += lanesAtOnce) {
        std::array<uint32_t, LANES> words;
        int n = 0;
        for (int lane = first; lane < first + lanesAtOnce; ++lane) {
            for (unsigned part = 0; part < bytes && (mask >> lane & 1) != 0; part += WORD) {
                words[n++] = (addresses[lane] + part) / WORD;
            }
        }
        n = distinct(words.data(), n);
        std::array<int, BANKS> load{};
        int most = 0;
        for (int i = 0; i < n; ++i) {
            most = std::max(most, ++load[words[i] % BANKS]);
        }
        counts.wavefronts += static_cast<uint64_t>(most);
        counts.leastWavefronts += (static_cast<uint64_t>(n) + BANKS - 1) / BANKS;
    }
}

void checkGlobal(Warp& warp, const Instruction& i, const uint64_t* addresses, uint32_t mask, unsigned bytes, Use use) {
    Block& block = *warp.block;
    for (int lane = 0; lane < LANES; ++lane) {
        if ((mask >> lane & 1) != 0 && addresses[lane] % bytes != 0) {
            fail(warp, i, "a misaligned address in global memory");
        }
    }
    std::string wrong = block.launch->memory->check({addresses, mask, bytes, use, block.number,
        static_cast<uint32_t>(warp.number * LANES), block.barriers});
    if (!wrong.empty()) {
        fail(warp, i, wrong);
    }
    countGlobal(*block.counts, addresses, mask, bytes);
}

void checkShared(Warp& warp, const Instruction& i, const char* wrong) {
    if (wrong != nullptr) {
        fail(warp, i, wrong);
    }
}

}  // namespace ptx
