// What the other libraries of the simulated machine ask of its core. The core is libcuda.so.1, which exports these
// functions beside the driver's; the others are linked with it. Results are codes of the driver (CUresult).
#pragma once

#include <cstddef>

extern "C" {

// Device memory that an operation touches: `rows` rows of `bytes` bytes, their starts `pitch` bytes apart.
struct SimRange {
    const void* address;
    size_t bytes;
    size_t rows;   // 1: one piece, the pitch does not matter
    size_t pitch;
};

// The operation itself. It runs once, later, on whichever thread waits for it, and owns its context. It may use the
// pointers that were declared as ranges directly. When the machine has failed before, it is not run (see sim_enqueue).
typedef void (*SimWork)(void* context);

// Puts an operation on a stream (a CUstream), in order with its kernels and copies. When it runs, every byte of `reads`
// must be live, written and ordered after its writer, and every byte of `writes` live and ordered after all who touched
// it; afterwards those count as written. A violation is an error of the device that names the operation by `name`
// (copied): "cublasLtMatmul 32 x 48 x 192 bf16", say. Ranges are copied. What is in both lists is updated in place.
// `release`, if given, frees the context when the operation has run or will never run.
int sim_enqueue(void* stream, const char* name, SimWork work, SimWork release, void* context,
    const SimRange* reads, int readCount, const SimRange* writes, int writeCount);

// Whether an operation can run now; asked again until it says so, or the device has failed. Must not block:
// the machine is locked meanwhile, as it is while an operation runs or is released.
typedef int (*SimReady)(void* context);

// sim_enqueue of an operation that takes part in something with other processes. Its stream stands still until it is
// ready, while the thread that waits for the stream looks at it again and again; cuEventQuery looks once, and a thread
// of the machine's own looks when the host has not called for a while. The others of its streams go on.
// Captured into a graph, an operation (of either kind) is asked and run once for each launch of the graph, and released
// with the last graph that has it.
int sim_enqueue_when(void* stream, const char* name, SimReady ready, SimWork work, SimWork release, void* context,
    const SimRange* reads, int readCount, const SimRange* writes, int writeCount);

// Refuses a call: prints "cuda-sim: " and the message, which cuGetErrorString(code) then gives, and returns the code.
int sim_refuse(int code, const char* message);

// Ends the device, for an operation that finds on the way that it cannot go on: prints the message, which
// cuGetErrorString(code) then gives. To be called by a SimReady or SimWork alone; it does not return.
[[noreturn]] void sim_fail(int code, const char* message);

// Whether `bytes` bytes at the address are all inside one live allocation of a device.
int sim_is_device_memory(const void* address, size_t bytes);

// ---- the devices, for NVML and the runtime ----

int sim_device_count(void);                                        // that the process sees
int sim_device_ordinal(int device);                                // number on the machine, before CUDA_VISIBLE_DEVICES
const char* sim_device_name(void);
void sim_device_uuid(int device, unsigned char uuid[16]);
void sim_device_memory(int device, size_t* total, size_t* used);
int sim_driver_version(void);                                        // 13010 is 13.1
int sim_capability(void);                                            // 90 is 9.0
int sim_synchronize(void);                                           // runs all that is queued: cuCtxSynchronize
}
