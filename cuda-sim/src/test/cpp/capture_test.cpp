// Calls that a capture does not allow. One call of each program is refused, with the code that CUDA returns.
#include <functional>
#include <thread>
#include <vector>

#include "machine.h"
#include "suite.h"

namespace test {
namespace {

constexpr unsigned N = 64;
constexpr size_t BYTES = N * sizeof(float);
constexpr int INVALIDATED_CODE = 901;
enum Status { NONE = 0, ACTIVE = 1, INVALIDATED = 2 };

// The stream to capture, memory to use, and an event that was recorded before.
struct Begun {
    void* stream;
    Address memory;
    void* earlier;
};

using Body = std::function<void(const Begun&)>;

// A program that does something while a stream is captured.
std::function<void()> capturing(const Body& body, Mode mode = THREAD_LOCAL) {
    return [=] {
        start();
        Begun begun = {stream(), allocate(BYTES), event()};
        need(cuEventRecord(begun.earlier, begun.stream), "cuEventRecord");
        begin(begun.stream, mode);
        need(cuMemsetD32Async(begun.memory, 0, N, begun.stream), "cuMemsetD32Async");
        body(begun);
        end(begun.stream);
    };
}

void inAnotherThread(const std::function<void()>& body) {
    std::thread([&] {
        start();
        body();
    }).join();
}

// A stream that has joined the capture of another, with an operation that the other must wait for.
void* forked(const Begun& begun) {
    void* side = stream();
    order(begun.stream, side);
    need(cuMemsetD32Async(begun.memory, 1, N, side), "cuMemsetD32Async");
    return side;
}

void* recorded(void* stream) {
    void* made = event();
    need(cuEventRecord(made, stream), "cuEventRecord");
    return made;
}

int statusOf(void* stream) {
    int status = -1;
    need(cuStreamIsCapturing(stream, &status), "cuStreamIsCapturing");
    return status;
}

void blockingStream(const std::function<void()>& body) {
    start();
    void* blocking = nullptr;
    need(cuStreamCreate(&blocking, 0), "cuStreamCreate");
    begin(blocking);
    body();
    end(blocking);
}

void useOfTheDefaultStream(Program program) {
    start();
    Address x = allocate(BYTES);
    auto use = [=] { need(cuMemsetD32Async(x, 0, N, nullptr), "cuMemsetD32Async"); };
    if (program == WRONG) {
        blockingStream(use);
    } else {
        capturing([&](const Begun&) { use(); })();
    }
    finish();
}

void tellsOfTheCapture(const Begun& begun) {
    int status = -1;
    unsigned long long id = 0;
    void* graph = nullptr;
    const void* const* tips = nullptr;
    const void* edges = nullptr;
    size_t count = 0;
    void* side = stream();
    check(statusOf(begun.stream) == ACTIVE && statusOf(side) == NONE, "one stream is captured");
    order(begun.stream, side);
    check(statusOf(side) == ACTIVE, "waiting for it joins the capture");
    need(cuMemsetD32Async(begun.memory, 1, N, side), "cuMemsetD32Async");
    order(side, begun.stream);
    need(cuStreamGetCaptureInfo_v3(begun.stream, &status, &id, &graph, &tips, &edges, &count), "GetCaptureInfo");
    check(status == ACTIVE && id != 0 && graph != nullptr, "the capture is described");
    check(count == 2 && tips[0] != nullptr && tips[1] != tips[0], "the next node comes after both streams");
}

// In a capture that is not relaxed, another thread may make calls that this thread must not make.
void safeElsewhere(const Begun& begun) {
    inAnotherThread([&] {
        need(cuMemFree_v2(allocate(BYTES)), "cuMemFree");
        need(cuEventQuery(begun.earlier), "cuEventQuery");
    });
}

void safeInRelaxedMode(const Begun& begun) {
    need(cuMemFree_v2(allocate(BYTES)), "cuMemFree");
    need(cuEventSynchronize(begun.earlier), "cuEventSynchronize");
}

void safeInRelaxedModeOfTheThread(const Begun&) {
    int mode = RELAXED;
    need(cuThreadExchangeStreamCaptureMode(&mode), "cuThreadExchangeStreamCaptureMode");
    check(mode == GLOBAL, "which is how a thread begins");
    need(cuMemFree_v2(allocate(BYTES)), "cuMemFree");
}

// After a call that is not allowed, the streams refuse work and the end of the capture returns no graph. Then the
// streams are usable again.
void spoiltAndAgain(const Begun& begun) {
    void* side = forked(begun);
    cuStreamQuery(side);
    check(statusOf(begun.stream) == INVALIDATED && statusOf(side) == INVALIDATED, "the capture is spoilt");
    check(cuMemsetD32Async(begun.memory, 0, N, begun.stream) == INVALIDATED_CODE, "and takes no operation");
    void* graph = nullptr;
    int result = cuStreamEndCapture(begun.stream, &graph);
    check(graph == nullptr && statusOf(begun.stream) == NONE && statusOf(side) == NONE, "it has ended");
    need(cuMemsetD32Async(begun.memory, 0, N, begun.stream), "cuMemsetD32Async");
    finish();
    need(result, "cuStreamEndCapture");
}

void unjoined(Program program) {
    capturing([=](const Begun& begun) {
        void* side = forked(begun);
        if (program == RIGHT) {
            order(side, begun.stream);
        }
    })();
}

// An event from outside the capture, and one that was recorded again.
void isolation(Program program) {
    capturing([=](const Begun& begun) {
        if (program == RIGHT) {
            need(cuEventRecord(begun.earlier, begun.stream), "cuEventRecord");
        }
        need(cuStreamWaitEvent(begun.stream, begun.earlier, 0), "cuStreamWaitEvent");
    })();
}

void merge(const Begun& begun) {
    void* other = stream();
    begin(other);
    order(other, begun.stream);
}

void eventAfterItsCapture(Program program) {
    start();
    void* main = stream();
    begin(main);
    void* inside = recorded(main);
    end(main);
    if (program == RIGHT) {
        need(cuEventRecord(inside, main), "cuEventRecord");
    }
    need(cuStreamWaitEvent(stream(), inside, 0), "cuStreamWaitEvent");
}

void endInAnotherThread(const Begun& begun) {
    inAnotherThread([&] { end(begun.stream); });
}

void addLimits(Suite& suite) {
    suite.caught("synchronizing a captured stream", {"cuStreamSynchronize: 900", "is captured"},
        capturing([](const Begun& begun) { need(cuStreamSynchronize(begun.stream), "cuStreamSynchronize"); }));
    suite.caught("synchronizing a stream that joined a capture", {"cuStreamSynchronize: 900", "is captured"},
        capturing([](const Begun& begun) {
            need(cuStreamSynchronize(forked(begun)), "cuStreamSynchronize");
        }, RELAXED));
    suite.caught("querying a captured stream", {"cuStreamQuery: 900", "is captured"},
        capturing([](const Begun& begun) { need(cuStreamQuery(begun.stream), "cuStreamQuery"); }, RELAXED));
    suite.caught("synchronizing the device of a captured stream", {"cuCtxSynchronize: 900", "is captured"},
        capturing([](const Begun&) { need(cuCtxSynchronize(), "cuCtxSynchronize"); }, RELAXED));
    suite.caught("synchronizing an event of a capture", {"cuEventSynchronize: 907", "last recorded in a capture"},
        capturing([](const Begun& begun) {
            need(cuEventSynchronize(recorded(begun.stream)), "cuEventSynchronize");
        }, RELAXED));
    suite.caught("querying an event of a capture", {"cuEventQuery: 907", "last recorded in a capture"},
        capturing([](const Begun& begun) { need(cuEventQuery(recorded(begun.stream)), "cuEventQuery"); }, RELAXED));
    suite.planted("an event after its capture", {"907", "last recorded in a capture"}, eventAfterItsCapture);
    suite.planted("use of the default stream during a capture", {"906", "the default stream is used while stream"},
        useOfTheDefaultStream);
    suite.caught("the default stream joins a capture", {"906", "the default stream waits for an event of a capture"},
        capturing([](const Begun& begun) { order(begun.stream, nullptr); }));
    suite.caught("capturing the default stream", {"cuStreamBeginCapture: 900", "the default stream"}, [] {
        start();
        begin(nullptr);
    });
    suite.planted("waiting in a capture for an event from outside", {"cuStreamWaitEvent: 905",
        "outside of the capture"}, isolation);
    suite.caught("waiting in a capture for an event of another", {"cuStreamWaitEvent: 902", "of another capture"},
        capturing(merge));
    suite.caught("destroying a captured stream", {"cuStreamDestroy: 900"},
        capturing([](const Begun& begun) { need(cuStreamDestroy_v2(begun.stream), "cuStreamDestroy"); }));
}

void addUnsafe(Suite& suite) {
    suite.caught("allocating in a capture", {"cuMemAlloc: 900", "unsafe while stream"},
        capturing([](const Begun&) { allocate(BYTES); }));
    suite.caught("freeing in a capture", {"cuMemFree: 900", "unsafe while stream"},
        capturing([](const Begun& begun) { need(cuMemFree_v2(begun.memory), "cuMemFree"); }));
    suite.caught("allocating pinned memory in a capture", {"cuMemHostAlloc: 900", "unsafe while stream"},
        capturing([](const Begun&) { pinned(BYTES); }));
    suite.caught("querying an event in a capture", {"cuEventQuery: 900", "unsafe while stream"},
        capturing([](const Begun& begun) { need(cuEventQuery(begun.earlier), "cuEventQuery"); }));
    suite.caught("allocating in another thread in global mode", {"cuMemAlloc: 900", "by another thread"},
        capturing([](const Begun&) { inAnotherThread([] { allocate(BYTES); }); }, GLOBAL));
    suite.caught("a blocking copy in a capture", {"cuMemcpyHtoD: 900", "unsafe while stream"},
        capturing([](const Begun& begun) {
            std::vector<float> host(N);
            need(cuMemcpyHtoD_v2(begun.memory, host.data(), BYTES), "cuMemcpyHtoD");
        }));
    suite.caught("a copy from memory that is not pinned in a capture", {"cuMemcpyHtoDAsync: 900", "not pinned"},
        capturing([](const Begun& begun) {
            std::vector<float> host(N);
            need(cuMemcpyHtoDAsync_v2(begun.memory, host.data(), BYTES, begun.stream), "cuMemcpyHtoDAsync");
        }));
    suite.clean("another thread allocates in thread-local mode", capturing(safeElsewhere));
    suite.clean("a thread allocates in relaxed mode", capturing(safeInRelaxedMode, RELAXED));
    suite.clean("a relaxed thread allocates", capturing(safeInRelaxedModeOfTheThread));
}

}  // namespace

void addCaptures(Suite& suite) {
    addLimits(suite);
    addUnsafe(suite);
    suite.clean("a capture is told of", capturing(tellsOfTheCapture));
    suite.caught("a spoilt capture", {"cuStreamEndCapture: 901", "cuStreamQuery: stream"}, capturing(spoiltAndAgain));
    suite.planted("a stream that is not joined", {"cuStreamEndCapture: 904", "operation memset"}, unjoined);
    suite.caught("ending a capture on another stream", {"cuStreamEndCapture: 903", "was begun on stream"},
        capturing([](const Begun& begun) { end(forked(begun)); }));
    suite.caught("ending a capture in another thread", {"cuStreamEndCapture: 908", "another thread"},
        capturing(endInAnotherThread));
    suite.caught("ending no capture", {"cuStreamEndCapture: 401", "is not capturing"}, [] {
        start();
        end(stream());
    });
    suite.caught("beginning a capture twice", {"cuStreamBeginCapture: 401", "is capturing already"},
        capturing([](const Begun& begun) { begin(begun.stream); }));
    suite.caught("a graph within a graph", {"cuGraphLaunch: 801", "a graph within a graph"}, [] {
        start();
        void* main = stream();
        begin(main);
        void* empty = ready(end(main));
        begin(main);
        need(cuGraphLaunch(empty, main), "cuGraphLaunch");
    });
}

}  // namespace test
