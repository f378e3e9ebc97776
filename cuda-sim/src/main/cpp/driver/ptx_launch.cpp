#include "ptx_launch.h"

#include <unistd.h>

#include <cstdio>

#include "access.h"
#include "ptx/machine.h"
#include "streams.h"

namespace sim {
namespace {

// The device's memory with its records.
class DeviceMemory : public ptx::Memory {
public:
    explicit DeviceMemory(uint32_t blockThreads) {
        by.operation = running()->number;
        by.blockThreads = blockThreads;
    }

    std::string check(const ptx::GlobalAccess& access) override {
        by.interval = static_cast<uint32_t>(access.barriers);
        by.atomic = access.use == ptx::Use::ATOMIC;
        for (uint32_t lane = 0; lane < WARP; ++lane) {
            if ((access.mask >> lane & 1) == 0) {
                continue;
            }
            by.thread = static_cast<uint32_t>(access.block * by.blockThreads + access.firstThread + lane);
            Address a = access.addresses[lane];
            std::string wrong;
            if (access.use != ptx::Use::WRITE) {
                wrong = globalTrouble(a, access.bytes, Direction::READ, by);
            }
            if (access.use != ptx::Use::READ && wrong.empty()) {
                wrong = globalTrouble(a, access.bytes, Direction::WRITE, by);
            }
            if (!wrong.empty()) {
                return format("thread %u: ", access.firstThread + lane) + wrong;
            }
        }
        return "";
    }

private:
    Actor by;
};

// Appends what a launch did to the file of this process that ISOBAR_SIM_COUNTS names, if that is set: one line of
// numbers with their names.
void writeCounts(const Kernel& kernel, const ptx::Counts& counts) {
    const std::string& file = config().counts;
    FILE* out = file.empty() ? nullptr : fopen(format("%s-%d", file.c_str(), getpid()).c_str(), "a");
    if (out == nullptr) {
        return;
    }
    std::string line = kernel.title + "\tblocks=" + std::to_string(counts.blocks) + "\twarps="
        + std::to_string(counts.warps);
    for (int i = 0; i < ptx::CLASSES; ++i) {
        line += std::string("\t") + ptx::name(static_cast<ptx::Class>(i)) + "="
            + std::to_string(counts.instructions[i]);
    }
    line += "\tsectors=" + std::to_string(counts.sectors) + "\tleastSectors=" + std::to_string(counts.leastSectors)
        + "\twavefronts=" + std::to_string(counts.wavefronts) + "\tleastWavefronts="
        + std::to_string(counts.leastWavefronts) + "\n";
    fputs(line.c_str(), out);
    fclose(out);
}

}  // namespace

void runPtx(const Kernel& kernel, Index grid, Index block, size_t dynamicShared, void** parameters) {
    DeviceMemory memory(block.x * block.y * block.z);
    actor = {};  // of the messages that name a thread
    actor.blockThreads = block.x * block.y * block.z;
    ptx::Launch described;
    described.grid = {grid.x, grid.y, grid.z};
    described.block = {block.x, block.y, block.z};
    described.dynamicShared = dynamicShared;
    described.parameters = parameters;
    described.memory = &memory;
    described.seed = config().seed + running()->number;
    described.capability = config().capability;
    try {
        writeCounts(kernel, ptx::run(*kernel.code, described));
    } catch (const ptx::Error& error) {
        breakDevice(LAUNCH_FAILED, "kernel " + kernel.title + ", " + error.what());
    }
}

}  // namespace sim
