// The devices of the machine as NVML counts them: all of them, in the machine's order, whatever CUDA_VISIBLE_DEVICES
// says.
#pragma once

#include <cstddef>
#include <string>

namespace nvml {

int deviceCount();

// "0000:01:00.0", as the driver gives it.
std::string busId(int ordinal);

// Whether two bus identifiers name the same device: domains of 4 and 8 digits, small and capital letters.
bool sameBus(const std::string& first, const std::string& second);

// "GPU-" and the 16 bytes that the driver gives; empty for a device that the process does not see.
std::string uuid(int ordinal);

struct Memory {
    size_t total;
    size_t used;
};

// Memory that this process has allocated, and what the driver and a context use before any allocation.
Memory memory(int ordinal);

}  // namespace nvml
