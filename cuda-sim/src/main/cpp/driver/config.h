// The configuration of the machine, from environment variables.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace sim {

struct Config {
    std::vector<int> devices;    // ordinals that the process sees: ISOBAR_SIM_GPUS cut by CUDA_VISIBLE_DEVICES
    size_t memory = 0;           // bytes of each: ISOBAR_SIM_MEMORY
    int capability = 90;         // 10 major + minor: ISOBAR_SIM_CAPABILITY
    int driver = 13010;          // ISOBAR_SIM_DRIVER
    long failingLaunch = 0;      // ISOBAR_SIM_FAIL=launch:N, N from 1; 0: none
    std::string failingKernel;   // ISOBAR_SIM_FAIL=launch:KERNEL:N counts launches of this kernel only
    long failingAllocation = 0;  // ISOBAR_SIM_FAIL=alloc:N
    unsigned long seed = 1;      // of the order of warps in the PTX machine: ISOBAR_SIM_SEED
    std::string counts;          // name of the file for what launches on the PTX machine did: ISOBAR_SIM_COUNTS
};

const Config& config();

constexpr int MULTIPROCESSORS = 132;
constexpr int WARP = 32;
constexpr int MOST_THREADS = 1024;
constexpr int USUAL_SHARED = 48 << 10;  // bytes of shared memory in a block, without an attribute
constexpr int MOST_SHARED = 227 << 10;  // the most with an attribute, on any device

// The most with an attribute, on a device of this capability (CUDA C++ Programming Guide, "Technical Specifications per
// Compute Capability"); a multiprocessor has 1 KB more.
int mostShared();

}  // namespace sim
