// Stream capture: operations become nodes of a graph instead of being queued. A stream joins a capture when it waits
// for an event that was recorded in it. Calls that are not allowed during capture are refused and, as in CUDA,
// invalidate it: its streams refuse further work until cuStreamEndCapture, which then returns no graph.
#pragma once

#include <deque>
#include <memory>
#include <thread>

#include "errors.h"
#include "streams.h"

namespace sim {

struct Node {
    Task task;
    Stream* stream;            // the captured stream
    std::vector<size_t> after; // indices of the nodes it depends on, including the previous one of its stream
};

struct Graph {
    int device = 0;
    std::deque<Node> nodes;  // in the order of capture, so each comes after its dependencies
};

// Values of CUstreamCaptureMode.
enum class CaptureMode { GLOBAL = 0, THREAD_LOCAL = 1, RELAXED = 2 };

struct Capture {
    uint64_t id;
    CaptureMode mode;
    std::thread::id thread;
    Stream* origin;
    std::vector<Stream*> members;
    std::unique_ptr<Graph> graph;
    std::string invalid;     // why it was invalidated; empty while it is valid
};

// The stream of a handle, for any use of the stream. Throws a Failure if its capture is invalidated, or if it is the
// default stream and a capturing stream would wait for it.
Stream* usableStream(void* handle);

// Puts an operation on a stream, or into its capture.
void issue(Stream* stream, Task task);
void recordEvent(Event& event, Stream* stream);
void waitForEvent(Stream* stream, const Event& event);

void beginCapture(Stream* stream, CaptureMode mode);
std::unique_ptr<Graph> endCapture(Stream* stream);

// Sets the capture mode of the calling thread; returns the previous one.
CaptureMode exchangeCaptureMode(CaptureMode mode);

// These throw a Failure if a capture does not allow the call.
void needSafe(const char* call);                        // calls that may synchronize or allocate
void needNotCapturing(Stream* stream, const char* call);  // queries, synchronization or destruction of the stream
void needNotCaptured(const Event& event, const char* call);
void needNoCapture(int device, const char* call);       // calls that wait for the device

// Drops the captures on a device.
void dropCaptures(int device);

}  // namespace sim
