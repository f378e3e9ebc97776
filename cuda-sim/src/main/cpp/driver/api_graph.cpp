// The driver's functions on graphs and on capturing them.
#include <algorithm>

#include "api.h"
#include "graph.h"

using namespace sim;

namespace {

// Values of CUstreamCaptureStatus.
enum CaptureStatus { NONE = 0, ACTIVE = 1, INVALIDATED = 2 };

CaptureStatus statusOf(const Stream& stream) {
    return stream.capture == nullptr ? NONE : stream.capture->invalid.empty() ? ACTIVE : INVALIDATED;
}

CaptureMode checkedMode(int mode) {
    if (mode < 0 || mode > static_cast<int>(CaptureMode::RELAXED)) {
        refuse(INVALID_VALUE, format("no mode of a capture: %d", mode));
    }
    return static_cast<CaptureMode>(mode);
}

// Capture information of a stream: the nodes that its next node depends on; valid until the next call of this thread.
const void* const* tipsOf(const Stream& stream) {
    static thread_local std::vector<const void*> tips;
    tips.clear();
    for (size_t tip : stream.tips) {
        tips.push_back(&stream.capture->graph->nodes[tip]);
    }
    return tips.data();
}

}  // namespace

SIM_API int cuStreamBeginCapture_v2(void* stream, int mode) {
    return guarded([&] {
        beginCapture(usableStream(stream), checkedMode(mode));
        return SUCCESS;
    });
}

SIM_API int cuStreamEndCapture(void* stream, void** graph) {
    *graph = nullptr;
    return guarded([&] {
        *graph = keep(endCapture(streamOf(stream)));
        return SUCCESS;
    });
}

SIM_API int cuStreamIsCapturing(void* stream, int* status) {
    return guarded([&] {
        *status = statusOf(*streamOf(stream));
        return SUCCESS;
    });
}

SIM_API int cuStreamGetCaptureInfo_v3(void* handle, int* status, uint64_t* id, void** graph, const void* const** tips,
    const void** edges, size_t* count) {
    return guarded([&] {
        const Stream& stream = *streamOf(handle);
        *status = statusOf(stream);
        if (*status != ACTIVE) {
            return SUCCESS;
        }
        if (id != nullptr) {
            *id = stream.capture->id;
        }
        if (graph != nullptr) {
            *graph = stream.capture->graph.get();
        }
        if (tips != nullptr) {
            *tips = tipsOf(stream);
        }
        if (edges != nullptr) {
            *edges = nullptr;
        }
        if (count != nullptr) {
            *count = stream.tips.size();
        }
        return SUCCESS;
    });
}

SIM_API int cuThreadExchangeStreamCaptureMode(int* mode) {
    return guarded([&] {
        *mode = static_cast<int>(exchangeCaptureMode(checkedMode(*mode)));
        return SUCCESS;
    });
}

SIM_API int cuGraphGetNodes(void* handle, const void** nodes, size_t* count) {
    return guarded([&] {
        const Graph& graph = *checkedGraph(handle);
        if (nodes == nullptr) {
            *count = graph.nodes.size();
            return SUCCESS;
        }
        for (size_t i = 0; i < *count; ++i) {
            nodes[i] = i < graph.nodes.size() ? &graph.nodes[i] : nullptr;
        }
        *count = std::min(*count, graph.nodes.size());
        return SUCCESS;
    });
}

SIM_API int cuGraphDestroy(void* graph) {
    return guarded([&] {
        destroyGraph(checkedGraph(graph));
        return SUCCESS;
    });
}

SIM_API int cuGraphInstantiateWithFlags(void** executable, void* graph, unsigned long long flags) {
    return guarded([&] {
        constexpr unsigned long long AUTO_FREE = 1;
        constexpr unsigned long long PRIORITIES = 8;
        if ((flags & ~(AUTO_FREE | PRIORITIES)) != 0) {
            refuse(NOT_SUPPORTED, format("cuGraphInstantiateWithFlags: flags %#llx", flags));
        }
        *executable = instantiate(*checkedGraph(graph));
        return SUCCESS;
    });
}

// Does nothing, because graphs need no setup on the simulated device.
SIM_API int cuGraphUpload(void* executable, void* stream) {
    return guarded([&] {
        checkedExecutable(executable);
        needNotCapturing(usableStream(stream), "cuGraphUpload");
        return SUCCESS;
    });
}

SIM_API int cuGraphLaunch(void* handle, void* stream) {
    return guarded([&] {
        Executable* executable = checkedExecutable(handle);
        Stream* on = usableStream(stream);
        if (on->capture != nullptr) {
            refuse(NOT_SUPPORTED, "cuGraphLaunch: a graph within a graph, for " + on->title + " is captured");
        }
        launchGraph(*executable, on);
        return SUCCESS;
    });
}

SIM_API int cuGraphExecDestroy(void* executable) {
    return guarded([&] {
        destroyExecutable(checkedExecutable(executable));
        return SUCCESS;
    });
}
