// The driver's functions on modules and kernels.
#include "api.h"
#include "capture.h"
#include "device.h"
#include "launch.h"
#include "module.h"
#include "streams.h"

using namespace sim;

namespace {

// Values of CUfunction_attribute.
enum Attribute { MOST_THREADS_PER_BLOCK = 0, STATIC_SHARED = 1, REGISTERS = 4, MOST_DYNAMIC_SHARED = 8, CARVEOUT = 9 };

}  // namespace

SIM_API int cuModuleLoadData(void** module, const void* image) {
    return guarded([&] {
        currentDevice();
        needSafe("cuModuleLoadData");
        *module = loadModule(image);
        return SUCCESS;
    });
}

SIM_API int cuModuleLoadDataEx(void** module, const void* image, unsigned, int*, void**) {
    return cuModuleLoadData(module, image);
}

SIM_API int cuModuleUnload(void* module) {
    return guarded([&] {
        needSafe("cuModuleUnload");
        synchronizeAll();
        unloadModule(static_cast<Module*>(module));
        return SUCCESS;
    });
}

SIM_API int cuModuleGetFunction(void** function, void* module, const char* name) {
    return guarded([&] {
        *function = kernelOf(static_cast<Module*>(module), name);
        return SUCCESS;
    });
}

SIM_API int cuFuncSetAttribute(void* function, int attribute, int value) {
    return guarded([&] {
        Kernel* kernel = checkedKernel(function);
        if (attribute == MOST_DYNAMIC_SHARED) {
            size_t most = mostShared() - staticSharedBytes(*kernel);
            if (value < 0 || static_cast<size_t>(value) > most) {
                refuse(INVALID_VALUE, format("%s: %d bytes of dynamic shared memory asked for, at most %zu can be had",
                    kernel->title.c_str(), value, most));
            }
            kernel->mostDynamicShared = static_cast<size_t>(value);
        } else if (attribute != CARVEOUT) {
            refuse(INVALID_VALUE, format("attribute %d of a kernel cannot be set", attribute));
        }
        return SUCCESS;
    });
}

SIM_API int cuFuncGetAttribute(int* value, int attribute, void* function) {
    return guarded([&] {
        constexpr int REGISTERS_OF_ANY = 32;  // a placeholder: simulated kernels have no register count
        Kernel* kernel = checkedKernel(function);
        switch (attribute) {
            case MOST_THREADS_PER_BLOCK: *value = kernel->mostThreads; break;
            case STATIC_SHARED: *value = static_cast<int>(staticSharedBytes(*kernel)); break;
            case REGISTERS: *value = REGISTERS_OF_ANY; break;
            case MOST_DYNAMIC_SHARED: *value = static_cast<int>(kernel->mostDynamicShared); break;
            default: *value = 0;
        }
        return SUCCESS;
    });
}

SIM_API int cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, void* function, int threads,
    size_t dynamicShared) {
    return guarded([&] {
        *blocks = blocksPerMultiprocessor(*checkedKernel(function), threads, dynamicShared);
        return SUCCESS;
    });
}

SIM_API int cuLaunchKernel(void* function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
    unsigned blockY, unsigned blockZ, unsigned dynamicShared, void* stream, void** parameters, void** extra) {
    return guarded([&] {
        Kernel* kernel = checkedKernel(function);
        if (extra != nullptr) {
            refuse(NOT_SUPPORTED, "launch with a packed buffer of parameters");
        }
        checkLaunch(*kernel, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, dynamicShared);
        issueLaunch(usableStream(stream), *kernel, {gridX, gridY, gridZ}, {blockX, blockY, blockZ}, dynamicShared,
            parameters);
        return SUCCESS;
    });
}
