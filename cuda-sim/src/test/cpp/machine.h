// The simulated machine as its tests see it: the driver's and NVRTC's functions, declared; and a kernel in one call.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using Address = unsigned long long;

extern "C" {
int cuInit(unsigned);
int cuDevicePrimaryCtxRetain(void**, int);
int cuCtxSetCurrent(void*);
int cuCtxSynchronize();
int cuMemAlloc_v2(Address*, size_t);
int cuMemFree_v2(Address);
int cuMemHostAlloc(void**, size_t, unsigned);
int cuMemcpyHtoD_v2(Address, const void*, size_t);
int cuMemcpyDtoH_v2(void*, Address, size_t);
int cuMemcpyHtoDAsync_v2(Address, const void*, size_t, void*);
int cuMemcpyDtoHAsync_v2(void*, Address, size_t, void*);
int cuStreamCreate(void**, unsigned);
int cuStreamSynchronize(void*);
int cuStreamWaitEvent(void*, void*, unsigned);
int cuEventCreate(void**, unsigned);
int cuEventRecord(void*, void*);
int cuModuleLoadData(void**, const void*);
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
}

inline void need(int result, const char* what) {
    if (result != 0) {
        const char* text = "";
        cuGetErrorString(result, &text);
        fprintf(stderr, "%s: %d %s\n", what, result, text);
        exit(1);
    }
}

inline void check(bool holds, const char* what) {
    printf("%s: %s\n", what, holds ? "ok" : "FAILED");
    if (!holds) {
        exit(1);
    }
}

inline void start() {
    void* context = nullptr;
    need(cuInit(0), "cuInit");
    need(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
    need(cuCtxSetCurrent(context), "cuCtxSetCurrent");
}

// The kernel of a source, which may include "ptx.cuh".
inline void* compile(const std::string& source, const char* name) {
    const char* header = "#error the simulated machine has its own ptx.cuh\n";
    const char* headerName = "ptx.cuh";
    const char* options[] = {"--std=c++17", "--gpu-architecture=sm_90", "-DT=float"};
    void* program = nullptr;
    need(nvrtcCreateProgram(&program, source.c_str(), "test.cu", 1, &header, &headerName), "nvrtcCreateProgram");
    int result = nvrtcCompileProgram(program, 3, options);
    size_t bytes = 0;
    need(nvrtcGetProgramLogSize(program, &bytes), "nvrtcGetProgramLogSize");
    std::vector<char> log(bytes);
    need(nvrtcGetProgramLog(program, log.data()), "nvrtcGetProgramLog");
    fputs(log.data(), stderr);
    need(result, "nvrtcCompileProgram");
    need(nvrtcGetCUBINSize(program, &bytes), "nvrtcGetCUBINSize");
    std::vector<char> object(bytes);
    need(nvrtcGetCUBIN(program, object.data()), "nvrtcGetCUBIN");
    void* module = nullptr;
    void* function = nullptr;
    need(cuModuleLoadData(&module, object.data()), "cuModuleLoadData");
    need(cuModuleGetFunction(&function, module, name), "cuModuleGetFunction");
    need(nvrtcDestroyProgram(&program), "nvrtcDestroyProgram");
    return function;
}

template <typename... P>
int launch(void* kernel, int blocks, int threads, int shared, void* stream, P... parameters) {
    void* addresses[] = {&parameters..., nullptr};
    return cuLaunchKernel(kernel, blocks, 1, 1, threads, 1, 1, shared, stream, addresses, nullptr);
}

template <typename N>
Address upload(const std::vector<N>& values) {
    Address address = 0;
    need(cuMemAlloc_v2(&address, values.size() * sizeof(N)), "cuMemAlloc");
    need(cuMemcpyHtoD_v2(address, values.data(), values.size() * sizeof(N)), "cuMemcpyHtoD");
    return address;
}

template <typename N>
std::vector<N> download(Address address, size_t count) {
    std::vector<N> values(count);
    need(cuCtxSynchronize(), "cuCtxSynchronize");
    need(cuMemcpyDtoH_v2(values.data(), address, count * sizeof(N)), "cuMemcpyDtoH");
    return values;
}
