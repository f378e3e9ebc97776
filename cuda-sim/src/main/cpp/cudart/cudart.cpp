// The runtime library, as far as the Java bindings need it: they are linked with it, and bind a function when it is
// first called. The program calls the driver.
#include "sim.h"

#define RUNTIME_API extern "C" __attribute__((visibility("default")))

namespace {
constexpr int SUCCESS = 0;
constexpr int VERSION = 13010;
}  // namespace

RUNTIME_API int cudaRuntimeGetVersion(int* version) {
    *version = VERSION;
    return SUCCESS;
}

RUNTIME_API int cudaDriverGetVersion(int* version) {
    *version = sim_driver_version();
    return SUCCESS;
}

// There is no profiler to start.
RUNTIME_API int cudaProfilerStart() {
    return SUCCESS;
}

RUNTIME_API int cudaProfilerStop() {
    return SUCCESS;
}
