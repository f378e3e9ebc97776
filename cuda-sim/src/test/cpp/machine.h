// Declarations of the simulated libraries' functions for the tests, and helpers, such as a kernel launch in one call.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

using Address = unsigned long long;

extern "C" {
int cuInit(unsigned);
int cuDriverGetVersion(int*);
int cuDeviceGetCount(int*);
int cuDeviceGetAttribute(int*, int, int);
int cuDeviceGetPCIBusId(char*, int, int);
int cuDeviceTotalMem_v2(size_t*, int);
int cuDevicePrimaryCtxRetain(void**, int);
int cuCtxGetCurrent(void**);
int cuCtxSetCurrent(void*);
int cuCtxSynchronize();
int cuMemAlloc_v2(Address*, size_t);
int cuMemFree_v2(Address);
int cuMemGetInfo_v2(size_t*, size_t*);
int cuMemHostAlloc(void**, size_t, unsigned);
int cuMemFreeHost(void*);
int cuMemsetD32Async(Address, unsigned, size_t, void*);
int cuMemcpyHtoD_v2(Address, const void*, size_t);
int cuMemcpyDtoH_v2(void*, Address, size_t);
int cuMemcpyDtoDAsync_v2(Address, Address, size_t, void*);
int cuMemcpyHtoDAsync_v2(Address, const void*, size_t, void*);
int cuMemcpyDtoHAsync_v2(void*, Address, size_t, void*);
int cuStreamCreate(void**, unsigned);
int cuStreamDestroy_v2(void*);
int cuStreamSynchronize(void*);
int cuStreamQuery(void*);
int cuStreamWaitEvent(void*, void*, unsigned);
int cuEventCreate(void**, unsigned);
int cuEventRecord(void*, void*);
int cuEventSynchronize(void*);
int cuEventQuery(void*);
int cuEventElapsedTime(float*, void*, void*);
int cuStreamBeginCapture_v2(void*, int);
int cuStreamEndCapture(void*, void**);
int cuStreamIsCapturing(void*, int*);
int cuStreamGetCaptureInfo_v3(void*, int*, unsigned long long*, void**, const void* const**, const void**, size_t*);
int cuThreadExchangeStreamCaptureMode(int*);
int cuGraphGetNodes(void*, const void**, size_t*);
int cuGraphInstantiateWithFlags(void**, void*, unsigned long long);
int cuGraphUpload(void*, void*);
int cuGraphLaunch(void*, void*);
int cuGraphExecDestroy(void*);
int cuGraphDestroy(void*);
int cuModuleLoadData(void**, const void*);
int cuModuleUnload(void*);
int cuModuleGetFunction(void**, void*, const char*);
int cuFuncSetAttribute(void*, int, int);
int cuLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
int cuGetErrorString(int, const char**);
int nvrtcCreateProgram(void**, const char*, const char*, int, const char* const*, const char* const*);
int nvrtcCompileProgram(void*, int, const char* const*);
int nvrtcGetProgramLogSize(void*, size_t*);
int nvrtcGetProgramLog(void*, char*);
int nvrtcGetCUBINSize(void*, size_t*);
int nvrtcGetCUBIN(void*, char*);
int nvrtcDestroyProgram(void**);
int nvmlInit_v2();
int nvmlDeviceGetCount_v2(unsigned*);
int nvmlDeviceGetHandleByPciBusId_v2(const char*, void**);
int nvmlDeviceGetHandleByIndex_v2(unsigned, void**);
int nvmlDeviceGetMemoryInfo(void*, unsigned long long*);
}

namespace test {

// Exit status of a test in which a call was refused.
constexpr int REFUSED = 3;

// Ends the test if a call failed, with its error's text.
void need(int result, const char* call);

// Ends the test if this does not hold.
void check(bool holds, const char* what);

// The device made current.
void start(int device = 0);

// A stream that does not wait for the default one.
void* stream();

// An event without timing.
void* event();

// Work issued later to the stream `after` runs after all work that is on `before`.
void order(void* before, void* after);

// Values of CUstreamCaptureMode.
enum Mode { GLOBAL = 0, THREAD_LOCAL = 1, RELAXED = 2 };

void begin(void* stream, Mode mode = THREAD_LOCAL);

// The graph of a capture.
void* end(void* stream);

// The graph made ready to be launched; the graph itself is destroyed.
void* ready(void* graph);

// Pinned memory of the host.
void* pinned(size_t bytes);

// The module of a source; cuModuleGetFunction returns its kernels.
void* module(const std::string& source, int bug = 0);

// The kernel of a source, which may include "ptx.cuh"; BUG is 1 in it for a planted bug, else 0.
void* compile(const std::string& source, const char* name, int bug = 0);

Address allocate(size_t bytes);

// Waits for all queued work, and ends the test if the machine reports an error.
void finish();

template <typename... P>
int launch(void* kernel, unsigned blocks, unsigned threads, size_t shared, void* stream, P... parameters) {
    void* addresses[] = {&parameters..., nullptr};
    return cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, static_cast<unsigned>(shared), stream, addresses,
        nullptr);
}

// Runs on the default stream and waits for the end.
template <typename... P>
void run(void* kernel, unsigned blocks, unsigned threads, size_t shared, P... parameters) {
    need(launch(kernel, blocks, threads, shared, nullptr, parameters...), "cuLaunchKernel");
    finish();
}

template <typename N>
Address upload(const std::vector<N>& values) {
    Address address = allocate(values.size() * sizeof(N));
    need(cuMemcpyHtoD_v2(address, values.data(), values.size() * sizeof(N)), "cuMemcpyHtoD");
    return address;
}

template <typename N>
std::vector<N> download(Address address, size_t count) {
    std::vector<N> values(count);
    finish();
    need(cuMemcpyDtoH_v2(values.data(), address, count * sizeof(N)), "cuMemcpyDtoH");
    return values;
}

}  // namespace test
