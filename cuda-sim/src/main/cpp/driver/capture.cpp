#include "capture.h"

#include <algorithm>
#include <utility>

namespace sim {
namespace {

std::vector<std::unique_ptr<Capture>> captures;  // in progress
uint64_t latest = 0;
thread_local CaptureMode threadMode = CaptureMode::GLOBAL;

// Refuses a call, which invalidates the capture.
[[noreturn]] void invalidate(Capture& capture, Code code, const std::string& message) {
    if (capture.invalid.empty()) {
        capture.invalid = message;
    }
    refuse(code, message);
}

Capture* captureOf(const Event& event) {
    for (auto& capture : captures) {
        if (capture->id == event.capture) {
            return capture.get();
        }
    }
    return nullptr;
}

// The capture whose mode forbids unsafe calls on this thread, or null.
Capture* forbidding() {
    for (auto& capture : captures) {
        bool own = capture->thread == std::this_thread::get_id() && capture->mode != CaptureMode::RELAXED;
        bool global = capture->mode == CaptureMode::GLOBAL && threadMode == CaptureMode::GLOBAL;
        if (threadMode != CaptureMode::RELAXED && (own || global)) {
            return capture.get();
        }
    }
    return nullptr;
}

void add(std::vector<size_t>& nodes, const std::vector<size_t>& others) {
    for (size_t node : others) {
        if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) {
            nodes.push_back(node);
        }
    }
}

void join(Stream* stream, Capture& capture) {
    if (isDefault(stream)) {
        invalidate(capture, CAPTURE_IMPLICIT,
            "the default stream waits for an event of a capture: it cannot be captured");
    }
    stream->capture = &capture;
    capture.members.push_back(stream);
}

void leave(Stream* stream) {
    stream->capture = nullptr;
    stream->tips.clear();
}

// A node without successors that the origin stream does not wait for, or null.
const Node* unjoined(const Capture& capture) {
    const auto& nodes = capture.graph->nodes;
    std::vector<bool> followed(nodes.size());
    for (const Node& node : nodes) {
        for (size_t before : node.after) {
            followed[before] = true;
        }
    }
    for (size_t tip : capture.origin->tips) {
        followed[tip] = true;
    }
    auto found = std::find(followed.begin(), followed.end(), false);
    return found == followed.end() ? nullptr : &nodes[static_cast<size_t>(found - followed.begin())];
}

void needEnd(const Capture* capture, const Stream* stream) {
    if (capture == nullptr) {
        refuse(ILLEGAL_STATE, "cuStreamEndCapture: " + stream->title + " is not capturing");
    }
    if (capture->origin != stream) {
        refuse(CAPTURE_UNMATCHED, format("cuStreamEndCapture: the capture was begun on %s, not on %s",
            capture->origin->title.c_str(), stream->title.c_str()));
    }
    if (capture->mode != CaptureMode::RELAXED && capture->thread != std::this_thread::get_id()) {
        refuse(CAPTURE_WRONG_THREAD, "cuStreamEndCapture: another thread has begun the capture on " + stream->title);
    }
}

std::unique_ptr<Capture> take(Capture* capture) {
    auto found = std::find_if(captures.begin(), captures.end(), [&](auto& one) { return one.get() == capture; });
    std::unique_ptr<Capture> taken = std::move(*found);
    captures.erase(found);
    return taken;
}

}  // namespace

Stream* usableStream(void* handle) {
    Stream* stream = streamOf(handle);
    if (stream->capture != nullptr && !stream->capture->invalid.empty()) {
        refuse(CAPTURE_INVALIDATED, format("the capture on %s is invalid: %s", stream->title.c_str(),
            stream->capture->invalid.c_str()));
    }
    for (auto& capture : captures) {
        for (Stream* member : capture->members) {
            if (isDefault(stream) && member->device == stream->device && member->order == Order::WITH_DEFAULT) {
                invalidate(*capture, CAPTURE_IMPLICIT, format("the default stream is used while %s is captured, "
                    "which is not a non-blocking stream and waits for it", member->title.c_str()));
            }
        }
    }
    return stream;
}

void issue(Stream* stream, Task task) {
    if (stream->capture == nullptr) {
        enqueue(stream, task);
        return;
    }
    auto& nodes = stream->capture->graph->nodes;
    nodes.push_back({std::move(task), stream, std::move(stream->tips)});
    stream->tips = {nodes.size() - 1};
}

void recordEvent(Event& event, Stream* stream) {
    if (stream->capture == nullptr) {
        record(event, stream);
        return;
    }
    event.stream = nullptr;
    event.capture = stream->capture->id;
    event.tips = stream->tips;
}

void waitForEvent(Stream* stream, const Event& event) {
    if (event.capture == 0) {
        if (stream->capture != nullptr && event.stream != nullptr) {
            invalidate(*stream->capture, CAPTURE_ISOLATION, format("%s is captured and waits for an event that was "
                "recorded on %s outside of the capture", stream->title.c_str(), event.stream->title.c_str()));
        }
        wait(stream, event);
        return;
    }
    Capture* capture = captureOf(event);
    if (capture == nullptr) {
        refuse(CAPTURED_EVENT, stream->title + " waits for an event that was last recorded in a capture, which has "
            "ended");
    }
    if (stream->capture == nullptr) {
        join(stream, *capture);
    } else if (stream->capture != capture) {
        invalidate(*stream->capture, CAPTURE_MERGE, stream->title
            + " is captured and waits for an event of another capture");
    }
    add(stream->tips, event.tips);
}

void beginCapture(Stream* stream, CaptureMode mode) {
    if (isDefault(stream)) {
        refuse(CAPTURE_UNSUPPORTED, "cuStreamBeginCapture: the default stream cannot be captured");
    }
    if (stream->capture != nullptr) {
        refuse(ILLEGAL_STATE, "cuStreamBeginCapture: " + stream->title + " is capturing already");
    }
    captures.push_back(std::make_unique<Capture>(Capture{++latest, mode, std::this_thread::get_id(), stream, {}, {},
        {}}));
    Capture& capture = *captures.back();
    capture.graph = std::make_unique<Graph>();
    capture.graph->device = stream->device;
    join(stream, capture);
}

std::unique_ptr<Graph> endCapture(Stream* stream) {
    needEnd(stream->capture, stream);
    std::unique_ptr<Capture> capture = take(stream->capture);
    const Node* open = unjoined(*capture);
    for (Stream* member : capture->members) {
        leave(member);
    }
    if (!capture->invalid.empty()) {
        refuse(CAPTURE_INVALIDATED, format("the capture on %s is invalid: %s", stream->title.c_str(),
            capture->invalid.c_str()));
    }
    if (open != nullptr) {
        refuse(CAPTURE_UNJOINED, format("the capture on %s ends, which waits for no event after %s (operation %s)",
            stream->title.c_str(), open->stream->title.c_str(), open->task.name.c_str()));
    }
    return std::move(capture->graph);
}

CaptureMode exchangeCaptureMode(CaptureMode mode) {
    return std::exchange(threadMode, mode);
}

void needSafe(const char* call) {
    if (Capture* capture = forbidding()) {
        invalidate(*capture, CAPTURE_UNSUPPORTED, format("%s is unsafe while %s is captured%s", call,
            capture->origin->title.c_str(), capture->thread == std::this_thread::get_id() ? ""
            : " by another thread, in global mode"));
    }
}

void needNotCapturing(Stream* stream, const char* call) {
    if (stream->capture != nullptr) {
        invalidate(*stream->capture, CAPTURE_UNSUPPORTED, format("%s: %s is captured", call, stream->title.c_str()));
    }
}

void needNotCaptured(const Event& event, const char* call) {
    if (event.capture == 0) {
        return;
    }
    std::string message = format("%s: the event was last recorded in a capture", call);
    if (Capture* capture = captureOf(event)) {
        invalidate(*capture, CAPTURED_EVENT, message);
    }
    refuse(CAPTURED_EVENT, message);
}

void needNoCapture(int device, const char* call) {
    for (auto& capture : captures) {
        for (Stream* member : capture->members) {
            if (member->device == device) {
                invalidate(*capture, CAPTURE_UNSUPPORTED, format("%s while %s is captured", call,
                    member->title.c_str()));
            }
        }
    }
}

void dropCaptures(int device) {
    for (size_t i = captures.size(); i-- > 0;) {
        if (captures[i]->origin->device == device) {
            for (Stream* member : captures[i]->members) {
                leave(member);
            }
            captures.erase(captures.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
}

}  // namespace sim
