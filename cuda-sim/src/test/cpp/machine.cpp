#include "machine.h"

#include <cstdio>
#include <cstdlib>

namespace test {

void need(int result, const char* call) {
    if (result != 0) {
        const char* text = "";
        cuGetErrorString(result, &text);
        fprintf(stderr, "%s: %d %s\n", call, result, text);
        exit(REFUSED);
    }
}

void check(bool holds, const char* what) {
    if (!holds) {
        fprintf(stderr, "does not hold: %s\n", what);
        exit(1);
    }
}

void start(int device) {
    void* context = nullptr;
    need(cuInit(0), "cuInit");
    need(cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
    need(cuCtxSetCurrent(context), "cuCtxSetCurrent");
}

void* stream() {
    constexpr unsigned NON_BLOCKING = 1;
    void* stream = nullptr;
    need(cuStreamCreate(&stream, NON_BLOCKING), "cuStreamCreate");
    return stream;
}

void* event() {
    constexpr unsigned WITHOUT_TIMING = 2;
    void* event = nullptr;
    need(cuEventCreate(&event, WITHOUT_TIMING), "cuEventCreate");
    return event;
}

void order(void* before, void* after) {
    void* between = event();
    need(cuEventRecord(between, before), "cuEventRecord");
    need(cuStreamWaitEvent(after, between, 0), "cuStreamWaitEvent");
}

void begin(void* stream, Mode mode) {
    need(cuStreamBeginCapture_v2(stream, mode), "cuStreamBeginCapture");
}

void* end(void* stream) {
    void* graph = nullptr;
    need(cuStreamEndCapture(stream, &graph), "cuStreamEndCapture");
    check(graph != nullptr, "a capture has a graph");
    return graph;
}

void* ready(void* graph) {
    void* executable = nullptr;
    need(cuGraphInstantiateWithFlags(&executable, graph, 0), "cuGraphInstantiate");
    need(cuGraphDestroy(graph), "cuGraphDestroy");
    return executable;
}

void* pinned(size_t bytes) {
    void* memory = nullptr;
    need(cuMemHostAlloc(&memory, bytes, 0), "cuMemHostAlloc");
    return memory;
}

namespace {

// "sm_90": the device's own.
std::string architecture() {
    int major = 0;
    int minor = 0;
    need(cuDeviceGetAttribute(&major, 75, 0), "cuDeviceGetAttribute");
    need(cuDeviceGetAttribute(&minor, 76, 0), "cuDeviceGetAttribute");
    return "sm_" + std::to_string(10 * major + minor);
}

}  // namespace

void* module(const std::string& source, int bug) {
    const char* header = "#error the simulated machine has its own ptx.cuh\n";
    const char* headerName = "ptx.cuh";
    std::string planted = "-DBUG=" + std::to_string(bug);
    std::string device = "--gpu-architecture=" + architecture();
    const char* options[] = {"--std=c++17", device.c_str(), planted.c_str()};
    void* program = nullptr;
    need(nvrtcCreateProgram(&program, source.c_str(), "test.cu", 1, &header, &headerName), "nvrtcCreateProgram");
    int result = nvrtcCompileProgram(program, 3, options);
    size_t bytes = 0;
    need(nvrtcGetProgramLogSize(program, &bytes), "nvrtcGetProgramLogSize");
    std::vector<char> log(bytes);
    need(nvrtcGetProgramLog(program, log.data()), "nvrtcGetProgramLog");
    fputs(log.data(), stderr);
    check(result == 0, "the kernel compiles");
    need(nvrtcGetCUBINSize(program, &bytes), "nvrtcGetCUBINSize");
    std::vector<char> object(bytes);
    need(nvrtcGetCUBIN(program, object.data()), "nvrtcGetCUBIN");
    void* module = nullptr;
    need(cuModuleLoadData(&module, object.data()), "cuModuleLoadData");
    need(nvrtcDestroyProgram(&program), "nvrtcDestroyProgram");
    return module;
}

void* compile(const std::string& source, const char* name, int bug) {
    void* function = nullptr;
    need(cuModuleGetFunction(&function, module(source, bug), name), "cuModuleGetFunction");
    return function;
}

Address allocate(size_t bytes) {
    Address address = 0;
    need(cuMemAlloc_v2(&address, bytes), "cuMemAlloc");
    return address;
}

void finish() {
    need(cuCtxSynchronize(), "cuCtxSynchronize");
}

}  // namespace test
