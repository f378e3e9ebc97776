// Graphs: the results of a replay, and its order, which is exactly the captured one.
#include <algorithm>
#include <vector>

#include "machine.h"
#include "sim.h"
#include "suite.h"

namespace test {
namespace {

constexpr unsigned N = 64;
constexpr size_t BYTES = N * sizeof(float);

constexpr const char* KERNELS = R"(
    extern "C" __global__ void fill(float* y, float value) { y[threadIdx.x] = value; }
    extern "C" __global__ void add(float* y, const float* x) { y[threadIdx.x] += x[threadIdx.x]; })";

std::vector<float> all(float value) {
    return std::vector<float>(N, value);
}

// An operation of another library: y += 1; it is ready only at every third poll.
struct Increment {
    float* y;
    int asked = 0;
    int runs = 0;
    int released = 0;
};

int inThirdAsking(void* context) {
    return ++static_cast<Increment*>(context)->asked % 3 == 0;
}

void increment(void* context) {
    auto increment = static_cast<Increment*>(context);
    ++increment->runs;
    std::for_each(increment->y, increment->y + N, [](float& y) { y += 1; });
}

void release(void* context) {
    ++static_cast<Increment*>(context)->released;
}

void enqueue(void* stream, Increment& operation) {
    SimRange range = {operation.y, BYTES, 1, 0};
    need(sim_enqueue_when(stream, "increment", inThirdAsking, increment, release, &operation, &range, 1, &range, 1),
        "sim_enqueue_when");
}

struct Scene {
    void* fill;
    void* add;
    void* main;
    void* side;
    Address x;
    Address y;
};

// The device with both kernels, two streams and two vectors of ones.
Scene scene() {
    start();
    return {compile(KERNELS, "fill"), compile(KERNELS, "add"), stream(), stream(), upload(all(1)), upload(all(1))};
}

// A step on two streams, sum += 1 + (in + 1), whose result goes to the host.
void replaysAStep() {
    start();
    void* fill = compile(KERNELS, "fill");
    void* add = compile(KERNELS, "add");
    void* main = stream();
    void* side = stream();
    auto in = static_cast<float*>(pinned(BYTES));
    auto out = static_cast<float*>(pinned(BYTES));
    Address x = allocate(BYTES);
    Address y = allocate(BYTES);
    Address one = allocate(BYTES);
    Address sum = upload(all(0));
    Increment operation = {reinterpret_cast<float*>(y)};
    float value = 1;
    begin(main);
    need(cuMemcpyHtoDAsync_v2(x, in, BYTES, main), "cuMemcpyHtoDAsync");
    order(main, side);
    need(cuMemcpyDtoDAsync_v2(y, x, BYTES, side), "cuMemcpyDtoDAsync");
    enqueue(side, operation);
    need(launch(fill, 1, N, 0, main, one, value), "cuLaunchKernel");
    value = 9;
    order(side, main);
    need(launch(add, 1, N, 0, main, sum, one), "cuLaunchKernel");
    need(launch(add, 1, N, 0, main, sum, y), "cuLaunchKernel");
    need(cuMemsetD32Async(y, 0, N, main), "cuMemsetD32Async");
    need(cuMemcpyDtoHAsync_v2(out, sum, BYTES, main), "cuMemcpyDtoHAsync");
    check(operation.asked == 0, "nothing runs while it is captured");
    void* graph = end(main);
    size_t nodes = 0;
    need(cuGraphGetNodes(graph, nullptr, &nodes), "cuGraphGetNodes");
    check(nodes == 8, "each operation is a node, events are none");
    void* step = ready(graph);
    need(cuGraphUpload(step, main), "cuGraphUpload");
    float expected = 0;
    for (int i = 1; i <= 3; ++i) {
        std::fill(in, in + N, static_cast<float>(10 * i));
        need(cuGraphLaunch(step, main), "cuGraphLaunch");
        need(cuStreamSynchronize(main), "cuStreamSynchronize");
        expected += 1 + static_cast<float>(10 * i) + 1;
        check(out[0] == expected && out[N - 1] == expected, "a new input, parameters as they were captured");
    }
    check(operation.runs == 3 && operation.asked == 9 && operation.released == 0, "one run for each launch");
    need(cuGraphExecDestroy(step), "cuGraphExecDestroy");
    check(operation.released == 1, "released with the graph");
}

// Two branches that touch the same memory.
void missingEventInside(Program program) {
    auto [fill, add, main, side, x, y] = scene();
    begin(main);
    order(main, side);
    need(launch(fill, 1, N, 0, side, x, 2.0f), "cuLaunchKernel");
    if (program == RIGHT) {
        order(side, main);
    }
    need(launch(add, 1, N, 0, main, y, x), "cuLaunchKernel");
    order(side, main);
    void* step = ready(end(main));
    need(cuGraphLaunch(step, main), "cuGraphLaunch");
    finish();
    check(download<float>(y, N)[0] == 3, "y + 2");
}

// Branches of consecutive replays: each launch ends before the next begins.
void launchesOfOneGraphAreInOrder() {
    auto [fill, add, main, side, x, y] = scene();
    finish();
    begin(main);
    need(launch(add, 1, N, 0, main, y, x), "cuLaunchKernel");
    order(main, side);
    need(launch(add, 1, N, 0, side, x, y), "cuLaunchKernel");
    order(side, main);
    void* step = ready(end(main));
    need(cuGraphLaunch(step, main), "cuGraphLaunch");
    need(cuGraphLaunch(step, side), "cuGraphLaunch");
    need(cuGraphLaunch(step, stream()), "cuGraphLaunch");
    finish();
    check(download<float>(y, N)[0] == 13 && download<float>(x, N)[0] == 21, "1 1, 2 3, 5 8, 13 21");
}

// Operations before and after a launch on another stream.
void missingEventBefore(Program program) {
    auto [fill, add, main, other, x, y] = scene();
    begin(main);
    need(launch(add, 1, N, 0, main, y, x), "cuLaunchKernel");
    void* step = ready(end(main));
    need(launch(fill, 1, N, 0, other, x, 2.0f), "cuLaunchKernel");
    if (program == RIGHT) {
        order(other, main);
    }
    need(cuGraphLaunch(step, main), "cuGraphLaunch");
    finish();
    check(download<float>(y, N)[0] == 3, "y + 2");
}

void missingEventAfter(Program program) {
    auto [fill, add, main, other, x, y] = scene();
    begin(main);
    need(launch(add, 1, N, 0, main, y, x), "cuLaunchKernel");
    void* step = ready(end(main));
    need(cuGraphLaunch(step, main), "cuGraphLaunch");
    if (program == RIGHT) {
        order(main, other);
    }
    need(launch(fill, 1, N, 0, other, x, 2.0f), "cuLaunchKernel");
    finish();
    check(download<float>(y, N)[0] == 2, "y + 1");
}

// A launch does not use the streams of the capture: it does not wait for work on the forked stream.
void forkedStreamIsNotWaitedFor(Program program) {
    auto [fill, add, main, side, x, y] = scene();
    begin(main);
    order(main, side);
    need(launch(add, 1, N, 0, side, y, x), "cuLaunchKernel");
    order(side, main);
    void* step = ready(end(main));
    need(launch(fill, 1, N, 0, side, x, 2.0f), "cuLaunchKernel");
    if (program == RIGHT) {
        order(side, main);
    }
    need(cuGraphLaunch(step, main), "cuGraphLaunch");
    finish();
}

void memoryFreed(Program program) {
    start();
    void* fill = compile(KERNELS, "fill");
    void* main = stream();
    Address x = allocate(BYTES);
    begin(main);
    need(launch(fill, 1, N, 0, main, x, 2.0f), "cuLaunchKernel");
    void* step = ready(end(main));
    need(cuGraphLaunch(step, main), "cuGraphLaunch");
    if (program == WRONG) {
        need(cuMemFree_v2(x), "cuMemFree");
    }
    need(cuGraphLaunch(step, main), "cuGraphLaunch");
    finish();
}

void moduleUnloaded(Program program) {
    start();
    void* kernels = module(KERNELS);
    void* fill = nullptr;
    need(cuModuleGetFunction(&fill, kernels, "fill"), "cuModuleGetFunction");
    void* main = stream();
    Address x = allocate(BYTES);
    begin(main);
    need(launch(fill, 1, N, 0, main, x, 2.0f), "cuLaunchKernel");
    void* step = ready(end(main));
    if (program == WRONG) {
        need(cuModuleUnload(kernels), "cuModuleUnload");
    }
    need(cuGraphLaunch(step, main), "cuGraphLaunch");
    finish();
}

void pinnedMemoryFreed(Program program) {
    start();
    void* main = stream();
    void* host = pinned(BYTES);
    Address x = upload(all(1));
    begin(main);
    need(cuMemcpyDtoHAsync_v2(host, x, BYTES, main), "cuMemcpyDtoHAsync");
    void* step = ready(end(main));
    if (program == WRONG) {
        need(cuMemFreeHost(host), "cuMemFreeHost");
    }
    need(cuGraphLaunch(step, main), "cuGraphLaunch");
    finish();
}

void pinnedMemoryReused(Program program) {
    start();
    void* main = stream();
    auto host = static_cast<float*>(pinned(BYTES));
    Address x = allocate(BYTES);
    begin(main);
    need(cuMemcpyHtoDAsync_v2(x, host, BYTES, main), "cuMemcpyHtoDAsync");
    void* step = ready(end(main));
    for (int i = 0; i < 2; ++i) {
        std::fill(host, host + N, static_cast<float>(i));
        need(cuGraphLaunch(step, main), "cuGraphLaunch");
        if (program == RIGHT) {
            need(cuStreamSynchronize(main), "cuStreamSynchronize");
        }
    }
    finish();
}

void missingEventAroundAnotherLibrary(Program program) {
    start();
    void* fill = compile(KERNELS, "fill");
    void* main = stream();
    void* side = stream();
    Address x = allocate(BYTES);
    Increment operation = {reinterpret_cast<float*>(x)};
    begin(main);
    order(main, side);
    need(launch(fill, 1, N, 0, main, x, 2.0f), "cuLaunchKernel");
    if (program == RIGHT) {
        order(main, side);
    }
    enqueue(side, operation);
    order(side, main);
    void* step = ready(end(main));
    need(cuGraphLaunch(step, main), "cuGraphLaunch");
    finish();
    check(download<float>(x, N)[0] == 3, "2 + 1");
}

void destroyedGraph() {
    start();
    void* main = stream();
    begin(main);
    void* step = ready(end(main));
    need(cuGraphLaunch(step, main), "cuGraphLaunch");
    need(cuGraphExecDestroy(step), "cuGraphExecDestroy");
    need(cuGraphLaunch(step, main), "cuGraphLaunch");
}

}  // namespace

void addGraphs(Suite& suite) {
    suite.clean("a graph replays a step on two streams", replaysAStep);
    suite.clean("the launches of one graph come one after the other", launchesOfOneGraphAreInOrder);
    suite.planted("missing event within a graph", {"kernel add", "missing event between stream", "of graph 1", "fill"},
        missingEventInside);
    suite.planted("missing event before a graph", {"missing event between stream", "of graph 1", "fill", "add"},
        missingEventBefore);
    suite.planted("missing event after a graph", {"kernel fill", "missing event between stream", "of graph 1", "add"},
        missingEventAfter);
    suite.planted("missing event before a graph that has used the stream", {
        "missing event between stream", "of graph 1", "fill", "add"}, forkedStreamIsNotWaitedFor);
    suite.planted("missing event before an operation of a graph", {"increment on stream", "of graph 1",
        "missing event between stream"}, missingEventAroundAnotherLibrary);
    suite.planted("memory of a graph freed", {"kernel fill", "a freed allocation"}, memoryFreed);
    suite.planted("module of a graph unloaded", {"fill", "of graph 1", "whose module was unloaded"}, moduleUnloaded);
    suite.planted("pinned memory of a graph freed", {"copy to host on stream", "of graph 1", "was freed"},
        pinnedMemoryFreed);
    suite.planted("pinned memory of a graph reused too early", {"pinned buffer changed before the copy ran",
        "of graph 1"}, pinnedMemoryReused);
    suite.caught("launch of a destroyed graph", {"no executable graph, or a destroyed one"}, destroyedGraph);
}

}  // namespace test
