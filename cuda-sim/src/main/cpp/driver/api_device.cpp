// The driver's functions on devices and contexts.
#include <cstdio>
#include <cstring>
#include <map>
#include <vector>

#include "api.h"
#include "config.h"
#include "device.h"
#include "fibers.h"
#include "graph.h"
#include "memory.h"
#include "shared.h"
#include "streams.h"

#include "../sim.h"

namespace sim {
namespace {

bool ready = false;
std::vector<Context> contexts;
thread_local std::vector<Context*> currentContexts;  // the stack of the calling thread; the last is current

constexpr const char* NAME = "Simulated GPU";

// Values of CUdevice_attribute.
const std::map<int, int> ATTRIBUTES = {
    {1, MOST_THREADS}, {2, 1024}, {3, 1024}, {4, 64},    // threads of a block, in all and by dimension
    {5, 0x7fffffff}, {6, 65535}, {7, 65535},             // blocks of a grid, by dimension
    {8, USUAL_SHARED}, {9, 64 << 10}, {10, WARP},        // shared and constant memory, warp
    {12, 65536}, {13, 1980000}, {14, 512},               // registers, kHz, alignment of textures
    {16, MULTIPROCESSORS}, {19, 1}, {31, 1}, {35, 0},
    {36, 2619000}, {37, 5120}, {38, 50 << 20}, {39, 2048}, {40, 3}, {41, 1},
    {78, 1}, {82, 65536}, {106, 32}, {111, 1 << 10}};

void setCurrent(Context* context) {
    if (!currentContexts.empty()) {
        currentContexts.pop_back();
    }
    if (context != nullptr) {
        currentContexts.push_back(context);
    }
}

Context* checkedContext(void* handle) {
    for (Context& context : contexts) {
        if (&context == handle) {
            return &context;
        }
    }
    refuse(INVALID_CONTEXT, "no context");
}

}  // namespace

bool initialized() {
    return ready;
}

int checkedDevice(int device) {
    if (device < 0 || static_cast<size_t>(device) >= contexts.size()) {
        refuse(INVALID_DEVICE, format("no device %d, there are %zu", device, contexts.size()));
    }
    return device;
}

Context* contextOf(int device) {
    return &contexts[checkedDevice(device)];
}

int currentDevice() {
    if (currentContexts.empty()) {
        refuse(INVALID_CONTEXT, "no context is current on this thread");
    }
    return currentContexts.back()->device;
}

}  // namespace sim

using namespace sim;

SIM_API int cuInit(unsigned) {
    std::lock_guard<std::recursive_mutex> hold(machineLock());
    if (ready) {
        return SUCCESS;
    }
    if (config().devices.empty()) {
        report({NO_DEVICE, "no device: ISOBAR_SIM_GPUS or CUDA_VISIBLE_DEVICES leaves none", Lasting::CALL});
        return NO_DEVICE;
    }
    try {
        reserveMemory();
        reserveStacks();
        reserveShared();
    } catch (const Failure& failure) {
        report(failure);
        return failure.code;
    }
    for (size_t i = 0; i < config().devices.size(); ++i) {
        contexts.push_back({static_cast<int>(i)});
        newStream(static_cast<int>(i), Order::WITH_DEFAULT);
    }
    ready = true;
    return SUCCESS;
}

SIM_API int cuDriverGetVersion(int* version) {
    *version = config().driver;
    return SUCCESS;
}

SIM_API int cuDeviceGetCount(int* count) {
    return guarded([&] {
        *count = static_cast<int>(contexts.size());
        return SUCCESS;
    });
}

SIM_API int cuDeviceGet(int* device, int ordinal) {
    return guarded([&] {
        *device = checkedDevice(ordinal);
        return SUCCESS;
    });
}

SIM_API int cuDeviceGetName(char* name, int length, int device) {
    return guarded([&] {
        checkedDevice(device);
        snprintf(name, static_cast<size_t>(length), "%s", NAME);
        return SUCCESS;
    });
}

SIM_API int cuDeviceGetAttribute(int* value, int attribute, int device) {
    return guarded([&] {
        checkedDevice(device);
        constexpr int MAJOR = 75;
        constexpr int MINOR = 76;
        constexpr int BUS = 33;
        constexpr int SHARED_OF_MULTIPROCESSOR = 81;
        constexpr int SHARED_OF_BLOCK = 97;
        if (attribute == SHARED_OF_MULTIPROCESSOR || attribute == SHARED_OF_BLOCK) {
            *value = mostShared() + (attribute == SHARED_OF_MULTIPROCESSOR ? 1 << 10 : 0);
            return SUCCESS;
        }
        if (attribute == MAJOR || attribute == MINOR) {
            *value = attribute == MAJOR ? config().capability / 10 : config().capability % 10;
            return SUCCESS;
        }
        auto found = ATTRIBUTES.find(attribute);
        *value = attribute == BUS ? sim_device_ordinal(device) + 1 : found == ATTRIBUTES.end() ? 0 : found->second;
        return SUCCESS;
    });
}

SIM_API int cuDeviceTotalMem_v2(size_t* bytes, int device) {
    return guarded([&] {
        checkedDevice(device);
        *bytes = config().memory;
        return SUCCESS;
    });
}

SIM_API int cuDeviceGetUuid_v2(unsigned char* uuid, int device) {
    return guarded([&] {
        sim_device_uuid(checkedDevice(device), uuid);
        return SUCCESS;
    });
}

SIM_API int cuDeviceGetUuid(unsigned char* uuid, int device) {
    return cuDeviceGetUuid_v2(uuid, device);
}

SIM_API int cuDeviceGetPCIBusId(char* text, int length, int device) {
    return guarded([&] {
        snprintf(text, static_cast<size_t>(length), "0000:%02x:00.0", sim_device_ordinal(checkedDevice(device)) + 1);
        return SUCCESS;
    });
}

namespace {

std::map<int, int> holders;  // of a device's context: how often it was retained and not released yet

}

SIM_API int cuDevicePrimaryCtxRetain(void** context, int device) {
    return guarded([&] {
        *context = contextOf(device);
        ++holders[device];
        return SUCCESS;
    });
}

// While others hold the context, it stays, and so do their captures.
SIM_API int cuDevicePrimaryCtxRelease_v2(int device) {
    return guarded([&] {
        if (--holders[checkedDevice(device)] <= 0) {
            holders.erase(device);
            needNoCapture(device, "cuDevicePrimaryCtxRelease");
            synchronizeDevice(device);
        }
        return SUCCESS;
    });
}

// Drops the queued work and frees all memory of the device. Unlike on a real device, this also clears its error, so
// that a process that tests errors can go on.
SIM_API int cuDevicePrimaryCtxReset_v2(int device) {
    std::lock_guard<std::recursive_mutex> hold(machineLock());
    healDevice();
    return guarded([&] {
        dropCaptures(checkedDevice(device));
        holders.erase(device);
        dropGraphs(device);
        dropQueued(device);
        releaseAll(device);
        return SUCCESS;
    });
}

SIM_API int cuCtxSetCurrent(void* context) {
    return guarded([&] {
        setCurrent(context == nullptr ? nullptr : checkedContext(context));
        return SUCCESS;
    });
}

SIM_API int cuCtxGetCurrent(void** context) {
    return guarded([&] {
        *context = currentContexts.empty() ? nullptr : currentContexts.back();
        return SUCCESS;
    });
}

SIM_API int cuCtxPushCurrent_v2(void* context) {
    return guarded([&] {
        currentContexts.push_back(checkedContext(context));
        return SUCCESS;
    });
}

SIM_API int cuCtxPopCurrent_v2(void** context) {
    return guarded([&] {
        currentDevice();
        if (context != nullptr) {
            *context = currentContexts.back();
        }
        currentContexts.pop_back();
        return SUCCESS;
    });
}

SIM_API int cuCtxGetDevice(int* device) {
    return guarded([&] {
        *device = currentDevice();
        return SUCCESS;
    });
}

SIM_API int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    return guarded([&] {
        *least = 0;
        *greatest = -5;
        return SUCCESS;
    });
}

SIM_API int cuCtxSynchronize() {
    return guarded([&] {
        needNoCapture(currentDevice(), "cuCtxSynchronize");
        synchronizeDevice(currentDevice());
        return SUCCESS;
    });
}

SIM_API int cuProfilerStart() { return SUCCESS; }
SIM_API int cuProfilerStop() { return SUCCESS; }

// The real NVRTC asks for a table of the driver's cache, and crashes if the driver lacks the function.
SIM_API int cuGetExportTable(const void** table, const void*) {
    *table = nullptr;
    return NOT_FOUND;
}

SIM_API int sim_device_count(void) {
    return static_cast<int>(config().devices.size());
}

SIM_API int sim_device_ordinal(int device) {
    return config().devices.at(static_cast<size_t>(device));
}

SIM_API const char* sim_device_name(void) {
    return NAME;
}

SIM_API void sim_device_uuid(int device, unsigned char uuid[16]) {
    memset(uuid, 0, 16);
    memcpy(uuid, "isobar-sim", 10);
    uuid[15] = static_cast<unsigned char>(sim_device_ordinal(device));
}

SIM_API void sim_device_memory(int device, size_t* total, size_t* used) {
    std::lock_guard<std::recursive_mutex> hold(machineLock());
    *total = config().memory;
    *used = ready ? usedMemory(device) : 0;
}

SIM_API int sim_driver_version(void) {
    return config().driver;
}

SIM_API int sim_capability(void) {
    return config().capability;
}

SIM_API int sim_synchronize(void) {
    return guarded([&] {
        for (const Context& context : contexts) {
            needNoCapture(context.device, "synchronization");
        }
        synchronizeAll();
        return SUCCESS;
    });
}
