// Operations that wait until they are ready, and the operations that run meanwhile.
#include <atomic>
#include <chrono>
#include <thread>

#include "machine.h"
#include "sim.h"
#include "suite.h"

namespace test {
namespace {

constexpr unsigned N = 64;
constexpr size_t BYTES = N * sizeof(float);
constexpr int NOT_READY = 600;
constexpr int ILLEGAL_ADDRESS = 700;
constexpr float HALF_AN_HOUR = 30 * 60 * 1000;  // milliseconds

constexpr const char* KERNELS = R"(
    extern "C" __global__ void fill(float* y, float value) { y[threadIdx.x] = value; }
    extern "C" __global__ void add(float* y, const float* x) { y[threadIdx.x] = x[threadIdx.x] + 1; })";

// Adds one to N numbers; ready when `open` is set.
struct Gate {
    std::atomic<bool> open = false;
    std::atomic<int> asked = 0;
    std::atomic<int> runs = 0;
    std::atomic<int> released = 0;
    float* values = nullptr;
};

int isOpen(void* context) {
    auto gate = static_cast<Gate*>(context);
    ++gate->asked;
    return gate->open;
}

void pass(void* context) {
    auto gate = static_cast<Gate*>(context);
    ++gate->runs;
    for (unsigned i = 0; i < N; ++i) {
        gate->values[i] += 1;
    }
}

void release(void* context) {
    ++static_cast<Gate*>(context)->released;
}

void enqueue(void* stream, Gate& gate, Address x) {
    gate.values = reinterpret_cast<float*>(x);
    SimRange range = {gate.values, BYTES, 1, 0};
    need(sim_enqueue_when(stream, "gate", isOpen, pass, release, &gate, &range, 1, &range, 1), "sim_enqueue_when");
}

void sleep(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

void runsWhenReady() {
    start();
    void* first = stream();
    Gate gate;
    Address x = upload(std::vector<float>(N, 5));
    enqueue(first, gate, x);
    std::thread opener([&] {
        while (gate.asked < 3) {
            sleep(1);
        }
        check(sim_is_device_memory(gate.values, BYTES) != 0, "other threads call in meanwhile");
        check(gate.runs == 0, "nothing runs before it is ready");
        gate.open = true;
    });
    need(cuStreamSynchronize(first), "cuStreamSynchronize");
    opener.join();
    check(gate.runs == 1 && gate.released == 1, "it ran once and was released");
    check(download<float>(x, N)[0] == 6, "what it wrote is there");
}

void othersGoOn() {
    start();
    void* fill = compile(KERNELS, "fill");
    void* stuck = stream();
    void* follower = stream();
    void* free = stream();
    Gate gate;
    Address x = upload(std::vector<float>(N, 5));
    Address y = allocate(BYTES);
    enqueue(stuck, gate, x);
    order(stuck, follower);
    need(launch(fill, 1, N, 0, follower, x, 1.0f), "cuLaunchKernel");
    need(launch(fill, 1, N, 0, free, y, 2.0f), "cuLaunchKernel");
    check(cuStreamQuery(free) == NOT_READY, "a query runs, and tells of it when asked again");
    need(cuStreamQuery(free), "cuStreamQuery");
    for (int i = 0; i < 10; ++i) {
        check(cuStreamQuery(stuck) == NOT_READY && cuStreamQuery(follower) == NOT_READY, "both stand still");
    }
    check(gate.asked >= 10 && gate.runs == 0, "it was asked, and did not run");
    gate.open = true;
    finish();
    check(download<float>(x, N)[0] == 1, "the follower ran last");
}

// The readiness of an operation can depend on a stream that no call waits for.
void waitingRunsOthers() {
    start();
    void* first = stream();
    void* second = stream();
    Gate gate;
    enqueue(first, gate, upload(std::vector<float>(N, 5)));
    SimWork open = [](void* context) { static_cast<Gate*>(context)->open = true; };
    need(sim_enqueue(second, "opener", open, nullptr, &gate, nullptr, 0, nullptr, 0), "sim_enqueue");
    need(cuStreamSynchronize(first), "cuStreamSynchronize");
    check(gate.runs == 1, "the second stream went on while the first stood still");
}

// An operation that other processes may need runs in the background; operations after it run only when waited for.
void runsAlone() {
    start();
    void* fill = compile(KERNELS, "fill");
    void* first = stream();
    void* second = stream();
    auto host = static_cast<float*>(pinned(BYTES));
    Gate gate;
    gate.open = true;
    Address x = allocate(BYTES);
    need(launch(fill, 1, N, 0, second, x, 5.0f), "cuLaunchKernel");
    order(second, first);
    enqueue(first, gate, x);
    need(cuMemcpyDtoHAsync_v2(host, x, BYTES, first), "cuMemcpyDtoHAsync");
    while (gate.runs == 0) {
        sleep(1);
    }
    sleep(50);
    check(host[0] != 6, "what comes after it is not run");
    need(cuStreamSynchronize(first), "cuStreamSynchronize");
    check(host[0] == 6 && gate.runs == 1, "until it is waited for");
}

void missingEvent(Program program) {
    start();
    void* fill = compile(KERNELS, "fill");
    void* computes = stream();
    void* communicates = stream();
    Gate gate;
    gate.open = true;
    Address x = upload(std::vector<float>(N, 5));
    need(launch(fill, 1, N, 0, computes, x, 1.0f), "cuLaunchKernel");
    if (program == RIGHT) {
        order(computes, communicates);
    }
    enqueue(communicates, gate, x);
    finish();
}

void unwritten() {
    start();
    void* first = stream();
    Gate gate;
    gate.open = true;
    enqueue(first, gate, allocate(BYTES));
    finish();
}

// A waiting call returns when another thread finds that the device has failed.
void failureEndsTheWait() {
    start();
    void* add = compile(KERNELS, "add");
    void* stuck = stream();
    Gate gate;
    enqueue(stuck, gate, upload(std::vector<float>(N, 5)));
    std::thread other([&] {
        start();
        while (gate.asked < 3) {
            sleep(1);
        }
        launch(add, 1, N, 0, stream(), Address{0}, Address{0});
        cuCtxSynchronize();
    });
    int result = cuStreamSynchronize(stuck);
    other.join();
    check(result == ILLEGAL_ADDRESS, "the wait ends with the device's error");
    need(result, "cuStreamSynchronize");
}

void spendHalfAnHour(void*) {
    sim_spend(HALF_AN_HOUR);
}

void timeIsSpent() {
    start();
    void* first = stream();
    void* events[3];
    for (int i = 0; i < 3; ++i) {
        need(cuEventCreate(&events[i], 0), "cuEventCreate");
        need(cuEventRecord(events[i], first), "cuEventRecord");
        if (i == 1) {
            need(sim_enqueue(first, "spend", spendHalfAnHour, nullptr, nullptr, nullptr, 0, nullptr, 0), "sim_enqueue");
        }
    }
    finish();
    float before = 0;
    float during = 0;
    need(cuEventElapsedTime(&before, events[0], events[1]), "cuEventElapsedTime");
    need(cuEventElapsedTime(&during, events[1], events[2]), "cuEventElapsedTime");
    check(before >= 0 && before < HALF_AN_HOUR, "the operations before it take no longer");
    check(during >= HALF_AN_HOUR && during < 2 * HALF_AN_HOUR, "events measure the time that an operation spends");
}

}  // namespace

void addWaiting(Suite& suite) {
    suite.clean("an operation runs when it is ready", runsWhenReady);
    suite.clean("streams beside one that stands still go on", othersGoOn);
    suite.clean("waiting for one stream runs the others", waitingRunsOthers);
    suite.clean("an operation runs without the host", runsAlone);
    suite.clean("events measure simulated time", timeIsSpent);
    suite.planted("missing event before an operation that waits", {"gate on stream", "missing event between stream",
        "fill"}, missingEvent);
    suite.caught("an operation that waits reads what nothing wrote", {"gate on stream", "which nothing wrote"},
        unwritten);
    suite.caught("a failure ends a wait", {"kernel add"}, failureEndsTheWait);
}

}  // namespace test
