// NVML's functions. A handle is the device's number on the machine plus one.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "machine.h"
#include "sim.h"

#define NVML_API extern "C" __attribute__((visibility("default")))

namespace {

enum Status {
    SUCCESS = 0,
    UNINITIALIZED = 1,
    INVALID_ARGUMENT = 2,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
    GPU_IS_LOST = 15,
    ARGUMENT_VERSION_MISMATCH = 25
};

// nvmlMemory_t and nvmlMemory_v2_t.
struct MemoryInfo {
    unsigned long long total;
    unsigned long long free;
    unsigned long long used;
};

struct MemoryInfoV2 {
    unsigned version;
    unsigned long long total;
    unsigned long long reserved;
    unsigned long long free;
    unsigned long long used;
};

constexpr unsigned MEMORY_INFO_V2 = sizeof(MemoryInfoV2) | 2u << 24;

using Device = void*;

int starts = 0;  // nvmlInit calls without a matching nvmlShutdown

int ordinalOf(Device device) {
    return static_cast<int>(reinterpret_cast<uintptr_t>(device)) - 1;
}

int checked(Device device) {
    if (starts == 0) {
        return UNINITIALIZED;
    }
    return ordinalOf(device) >= 0 && ordinalOf(device) < nvml::deviceCount() ? SUCCESS : INVALID_ARGUMENT;
}

// What ISOBAR_SIM_NVML names is wrong on purpose.
bool planted(const char* name) {
    const char* value = getenv("ISOBAR_SIM_NVML");
    return value != nullptr && strcmp(value, name) == 0;
}

int copy(const std::string& text, char* to, unsigned length) {
    if (to == nullptr) {
        return INVALID_ARGUMENT;
    }
    if (text.size() >= length) {
        return INSUFFICIENT_SIZE;
    }
    memcpy(to, text.c_str(), text.size() + 1);
    return SUCCESS;
}

// The first device that `matches`.
template <typename Matches>
int find(Device* device, Matches matches) {
    if (starts == 0) {
        return UNINITIALIZED;
    }
    for (int i = 0; i < nvml::deviceCount(); ++i) {
        if (matches(i)) {
            *device = reinterpret_cast<Device>(static_cast<uintptr_t>(i) + 1);
            return SUCCESS;
        }
    }
    return NOT_FOUND;
}

}  // namespace

NVML_API int nvmlInit_v2() {
    ++starts;
    return SUCCESS;
}

NVML_API int nvmlInitWithFlags(unsigned) {
    return nvmlInit_v2();
}

NVML_API int nvmlShutdown() {
    if (starts == 0) {
        return UNINITIALIZED;
    }
    --starts;
    return SUCCESS;
}

NVML_API const char* nvmlErrorString(int status) {
    switch (status) {
        case SUCCESS: return "Success";
        case UNINITIALIZED: return "Uninitialized";
        case INVALID_ARGUMENT: return "Invalid Argument";
        case NOT_FOUND: return "Not Found";
        case INSUFFICIENT_SIZE: return "Insufficient Size";
        case GPU_IS_LOST: return "GPU is lost";
        case ARGUMENT_VERSION_MISMATCH: return "Argument Version Mismatch";
        default: return "Unknown Error";
    }
}

NVML_API int nvmlSystemGetDriverVersion(char* version, unsigned length) {
    int number = sim_driver_version();
    std::string text = "simulated " + std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
    return starts == 0 ? UNINITIALIZED : copy(text, version, length);
}

NVML_API int nvmlSystemGetCudaDriverVersion_v2(int* version) {
    *version = sim_driver_version();
    return SUCCESS;
}

NVML_API int nvmlSystemGetCudaDriverVersion(int* version) {
    return nvmlSystemGetCudaDriverVersion_v2(version);
}

NVML_API int nvmlDeviceGetCount_v2(unsigned* count) {
    *count = static_cast<unsigned>(nvml::deviceCount());
    return starts == 0 ? UNINITIALIZED : SUCCESS;
}

NVML_API int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* device) {
    int status = find(device, [&](int i) { return static_cast<unsigned>(i) == index; });
    return status == NOT_FOUND ? INVALID_ARGUMENT : status;
}

NVML_API int nvmlDeviceGetHandleByUUID(const char* uuid, Device* device) {
    return find(device, [&](int i) { return nvml::uuid(i) == uuid; });
}

NVML_API int nvmlDeviceGetHandleByPciBusId_v2(const char* busId, Device* device) {
    return find(device, [&](int i) { return nvml::sameBus(nvml::busId(i), busId); });
}

NVML_API int nvmlDeviceGetIndex(Device device, unsigned* index) {
    *index = static_cast<unsigned>(ordinalOf(device));
    return checked(device);
}

NVML_API int nvmlDeviceGetName(Device device, char* name, unsigned length) {
    int status = checked(device);
    return status != SUCCESS ? status : copy(sim_device_name(), name, length);
}

NVML_API int nvmlDeviceGetUUID(Device device, char* uuid, unsigned length) {
    int status = checked(device);
    return status != SUCCESS ? status : copy(nvml::uuid(ordinalOf(device)), uuid, length);
}

NVML_API int nvmlDeviceGetCudaComputeCapability(Device device, int* major, int* minor) {
    *major = sim_capability() / 10;
    *minor = sim_capability() % 10;
    return checked(device);
}

NVML_API int nvmlDeviceGetMemoryInfo(Device device, MemoryInfo* info) {
    int status = checked(device);
    if (status != SUCCESS || planted("lost")) {
        return status != SUCCESS ? status : GPU_IS_LOST;
    }
    nvml::Memory memory = nvml::memory(ordinalOf(device));
    size_t others = planted("mig") ? memory.total : 0;  // another slice of the same GPU, unused
    *info = {memory.total + others, memory.total - memory.used + others, memory.used};
    return SUCCESS;
}

NVML_API int nvmlDeviceGetMemoryInfo_v2(Device device, MemoryInfoV2* info) {
    int status = checked(device);
    if (status != SUCCESS) {
        return status;
    }
    if (info->version != MEMORY_INFO_V2) {
        return ARGUMENT_VERSION_MISMATCH;
    }
    nvml::Memory memory = nvml::memory(ordinalOf(device));
    *info = {MEMORY_INFO_V2, memory.total, 0, memory.total - memory.used, memory.used};
    return SUCCESS;
}
