// The interface of the simulated driver for the other simulated libraries. libcuda.so.1 exports these functions beside
// the driver's; the others are linked with it. Results are codes of the driver (CUresult).
#pragma once

#include <cstddef>

extern "C" {

// Device memory that an operation accesses: `rows` rows of `bytes` bytes, their starts `pitch` bytes apart.
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
// must be live, written and ordered after its writer, and every byte of `writes` live and ordered after all earlier
// accesses; afterwards they count as written. A violation is an error of the device that names the operation by `name`
// (copied): "cublasLtMatmul 32 x 48 x 192 bf16", say. Ranges are copied. What is in both lists is updated in place.
// `release`, if given, frees the context when the operation has run or will never run.
int sim_enqueue(void* stream, const char* name, SimWork work, SimWork release, void* context,
    const SimRange* reads, int readCount, const SimRange* writes, int writeCount);

// Whether an operation can run now; called again until it returns true or the device has failed. Must not block:
// the machine is locked meanwhile, as it is while an operation runs or is released.
typedef int (*SimReady)(void* context);

// sim_enqueue of an operation that depends on other processes. Its stream is blocked until it is ready; other streams
// go on. A thread that waits for the stream polls it; cuEventQuery polls once; a background thread polls when the host
// has not called for a while. In a graph, an operation (of either kind) is polled and run once for each launch, and
// released with the last graph that holds it.
int sim_enqueue_when(void* stream, const char* name, SimReady ready, SimWork work, SimWork release, void* context,
    const SimRange* reads, int readCount, const SimRange* writes, int writeCount);

// Refuses a call: prints "cuda-sim: " and the message, which cuGetErrorString(code) then gives, and returns the code.
int sim_refuse(int code, const char* message);

// Fails the device, for an operation that cannot go on: prints the message, which cuGetErrorString(code) then returns.
// Only for use in a SimReady or SimWork; does not return.
[[noreturn]] void sim_fail(int code, const char* message);

// Adds to the time that events measure, as if the running operation took that much longer; it does not wait. Only for
// use in a SimWork.
void sim_spend(double milliseconds);

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
