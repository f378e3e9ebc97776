// Streams and events: unordered accesses are detected in any execution order.
#include <cstring>
#include <vector>

#include "machine.h"
#include "suite.h"

namespace test {
namespace {

constexpr unsigned N = 64;
constexpr size_t BYTES = N * sizeof(float);

constexpr const char* KERNELS = R"(
    extern "C" __global__ void fill(float* y, float value) { y[threadIdx.x] = value; }
    extern "C" __global__ void add(float* y, const float* x) { y[threadIdx.x] = x[threadIdx.x] + 1; })";

float* pinned() {
    return static_cast<float*>(test::pinned(BYTES));
}

void missingEvent(Program program) {
    start();
    void* fill = compile(KERNELS, "fill");
    void* add = compile(KERNELS, "add");
    void* first = stream();
    void* second = stream();
    Address x = allocate(BYTES);
    Address y = allocate(BYTES);
    need(launch(fill, 1, N, 0, first, x, 2.0f), "cuLaunchKernel");
    if (program == RIGHT) {
        order(first, second);
    }
    need(launch(add, 1, N, 0, second, y, x), "cuLaunchKernel");
    finish();
    check(download<float>(y, N)[N - 1] == 3, "the second stream sees what the first wrote");
}

// The second stream overwrites what the first one still reads.
void overwrittenWhileRead(Program program) {
    start();
    void* fill = compile(KERNELS, "fill");
    void* add = compile(KERNELS, "add");
    void* first = stream();
    void* second = stream();
    Address x = upload(std::vector<float>(N, 5));
    Address y = allocate(BYTES);
    need(launch(add, 1, N, 0, first, y, x), "cuLaunchKernel");
    if (program == RIGHT) {
        order(first, second);
    }
    need(launch(fill, 1, N, 0, second, x, 0.0f), "cuLaunchKernel");
    finish();
}

void missingEventAfterACopy(Program program) {
    start();
    void* add = compile(KERNELS, "add");
    void* copies = stream();
    void* computes = stream();
    float* host = pinned();
    std::fill(host, host + N, 4.0f);
    Address x = allocate(BYTES);
    Address y = allocate(BYTES);
    need(cuMemcpyHtoDAsync_v2(x, host, BYTES, copies), "cuMemcpyHtoDAsync");
    if (program == RIGHT) {
        order(copies, computes);
    }
    need(launch(add, 1, N, 0, computes, y, x), "cuLaunchKernel");
    finish();
    check(download<float>(y, N)[0] == 5, "the kernel sees what was copied");
}

void slotReusedTooEarly(Program program) {
    start();
    void* copies = stream();
    void* copied = event();
    float* slot = pinned();
    std::fill(slot, slot + N, 1.0f);
    Address x = allocate(BYTES);
    need(cuMemcpyHtoDAsync_v2(x, slot, BYTES, copies), "cuMemcpyHtoDAsync");
    need(cuEventRecord(copied, copies), "cuEventRecord");
    if (program == RIGHT) {
        need(cuEventSynchronize(copied), "cuEventSynchronize");
    }
    std::fill(slot, slot + N, 2.0f);
    finish();
    check(download<float>(x, N)[0] == 1, "what was in the slot arrives");
}

// The data of a copy to the host is available after a synchronization, not before.
void lateResults() {
    start();
    void* copies = stream();
    float* host = pinned();
    std::fill(host, host + N, -1.0f);
    Address x = upload(std::vector<float>(N, 7));
    need(cuMemcpyDtoHAsync_v2(host, x, BYTES, copies), "cuMemcpyDtoHAsync");
    check(host[0] != 7, "nothing has arrived yet");
    need(cuStreamSynchronize(copies), "cuStreamSynchronize");
    check(host[0] == 7 && host[N - 1] == 7, "all has arrived");
}

// A copy from pageable memory reads the source before the call returns.
void pageableMemory() {
    start();
    void* copies = stream();
    std::vector<float> host(N, 3);
    Address x = allocate(BYTES);
    need(cuMemcpyHtoDAsync_v2(x, host.data(), BYTES, copies), "cuMemcpyHtoDAsync");
    host.assign(N, 9);
    finish();
    check(download<float>(x, N)[0] == 3, "the copy was taken at the call");
}

// An event orders through a third stream.
void orderPassesOn() {
    start();
    void* fill = compile(KERNELS, "fill");
    void* add = compile(KERNELS, "add");
    void* streams[] = {stream(), stream(), stream()};
    Address x = allocate(BYTES);
    Address y = allocate(BYTES);
    need(launch(fill, 1, N, 0, streams[0], x, 2.0f), "cuLaunchKernel");
    order(streams[0], streams[1]);
    order(streams[1], streams[2]);
    need(launch(add, 1, N, 0, streams[2], y, x), "cuLaunchKernel");
    need(cuStreamSynchronize(streams[2]), "cuStreamSynchronize");
    check(download<float>(y, N)[0] == 3, "the third stream sees what the first wrote");
}

// An event recorded before the work does not order it.
void eventRecordedTooEarly() {
    start();
    void* fill = compile(KERNELS, "fill");
    void* add = compile(KERNELS, "add");
    void* first = stream();
    void* second = stream();
    Address x = upload(std::vector<float>(N, 0));
    order(first, second);
    need(launch(fill, 1, N, 0, first, x, 2.0f), "cuLaunchKernel");
    need(launch(add, 1, N, 0, second, allocate(BYTES), x), "cuLaunchKernel");
    finish();
}

}  // namespace

void addStreams(Suite& suite) {
    suite.planted("missing event between two streams", {"kernel add", "block (0, 0, 0), thread (0, 0, 0)",
        "missing event between stream", "fill", "add"}, missingEvent);
    suite.planted("overwritten while another stream reads", {"kernel fill", "missing event between stream"},
        overwrittenWhileRead);
    suite.planted("missing event after a copy", {"kernel add", "missing event between stream", "copy to device"},
        missingEventAfterACopy);
    suite.planted("pinned slot reused too early", {"pinned buffer changed before the copy ran", "reused too early"},
        slotReusedTooEarly);
    suite.caught("event recorded before the work", {"missing event between stream"}, eventRecordedTooEarly);
    suite.clean("a copy to the host arrives at the synchronization", lateResults);
    suite.clean("a copy from pageable memory is taken at once", pageableMemory);
    suite.clean("events order through a third stream", orderPassesOn);
}

}  // namespace test
