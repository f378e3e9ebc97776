#include "machine.h"

#include <cstdio>
#include <cstdlib>
#include <strings.h>

#include "sim.h"

namespace nvml {
namespace {

constexpr size_t BASE_BYTES = size_t{512} << 20;

// The process's number of a device, or -1 where CUDA_VISIBLE_DEVICES hides it.
int visibleNumber(int ordinal) {
    for (int device = 0; device < sim_device_count(); ++device) {
        if (sim_device_ordinal(device) == ordinal) {
            return device;
        }
    }
    return -1;
}

std::string withoutDomainPadding(const std::string& id) {
    size_t start = id.find_first_not_of('0');
    return start == std::string::npos ? "" : id.substr(start);
}

}  // namespace

int deviceCount() {
    const char* count = getenv("ISOBAR_SIM_GPUS");
    return count == nullptr || *count == 0 ? 1 : atoi(count);
}

std::string busId(int ordinal) {
    char text[32];
    snprintf(text, sizeof text, "0000:%02x:00.0", ordinal + 1);
    return text;
}

bool sameBus(const std::string& first, const std::string& second) {
    return strcasecmp(withoutDomainPadding(first).c_str(), withoutDomainPadding(second).c_str()) == 0;
}

std::string uuid(int ordinal) {
    int device = visibleNumber(ordinal);
    if (device < 0) {
        return "";
    }
    unsigned char bytes[16];
    sim_device_uuid(device, bytes);
    std::string text = "GPU";
    for (int i = 0; i < 16; ++i) {
        char digits[4];
        bool group = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
        snprintf(digits, sizeof digits, "%s%02x", group ? "-" : "", bytes[i]);
        text += digits;
    }
    return text;
}

Memory memory(int ordinal) {
    int device = visibleNumber(ordinal);
    size_t total = 0;
    size_t used = 0;
    sim_device_memory(device < 0 ? 0 : device, &total, &used);
    size_t taken = device < 0 ? 0 : used;
    size_t base = BASE_BYTES < total ? BASE_BYTES : total;
    return {total, taken < total - base ? taken + base : total};
}

}  // namespace nvml
