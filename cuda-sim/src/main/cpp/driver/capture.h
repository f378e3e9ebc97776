// Streams that are captured: their operations become nodes of a graph instead of being queued. A stream joins a capture
// when it waits for an event that was recorded in it. What is not allowed meanwhile is refused and, as on CUDA, spoils
// the capture: its streams take nothing more until cuStreamEndCapture, which then has no graph.
#pragma once

#include <deque>
#include <memory>
#include <thread>

#include "errors.h"
#include "streams.h"

namespace sim {

struct Node {
    Task task;
    Stream* stream;            // on which it was captured
    std::vector<size_t> after; // numbers of nodes; always the previous one of its stream, if there is one
};

struct Graph {
    int device = 0;
    std::deque<Node> nodes;  // in the order of their capture: each after those that it depends on
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
    std::string spoilt;      // why; empty: it is not
};

// The stream of a handle, for whatever uses the stream. Throws a Failure if its capture is spoilt, or if it is the
// default stream, for which a capturing stream would wait.
Stream* usableStream(void* handle);

// Puts an operation on a stream, or into its capture.
void issue(Stream* stream, Task task);
void recordEvent(Event& event, Stream* stream);
void waitForEvent(Stream* stream, const Event& event);

void beginCapture(Stream* stream, CaptureMode mode);
std::unique_ptr<Graph> endCapture(Stream* stream);

// How this thread's calls bear with captures; returns how they did before.
CaptureMode exchangeCaptureMode(CaptureMode mode);

// These throw a Failure where a capture does not allow a call.
void needSafe(const char* call);                        // what may synchronize or allocate
void needNotCapturing(Stream* stream, const char* call);  // what asks how far the stream is, or ends it
void needNotCaptured(const Event& event, const char* call);
void needNoCapture(int device, const char* call);       // what waits for the device

// Forgets the captures on a device.
void dropCaptures(int device);

}  // namespace sim
