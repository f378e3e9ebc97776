// The driver's functions on streams and events, and operations that the other libraries put on streams.
#include <algorithm>
#include <memory>
#include <set>

#include "access.h"
#include "api.h"
#include "capture.h"
#include "device.h"
#include "streams.h"

#include "../sim.h"

using namespace sim;

namespace {

std::set<Event*> events;

Event* eventOf(void* handle) {
    auto event = static_cast<Event*>(handle);
    if (events.count(event) == 0) {
        refuse(INVALID_HANDLE, "no event, or a destroyed one");
    }
    return event;
}

// A stream that the host may query now.
Stream* waitable(void* handle, const char* call) {
    Stream* stream = usableStream(handle);
    needNotCapturing(stream, call);
    needSafe(call);
    return stream;
}

Event* waitable(Event* event, const char* call) {
    needNotCaptured(*event, call);
    needSafe(call);
    return event;
}

void noteRanges(const std::vector<SimRange>& ranges, Direction direction) {
    for (const SimRange& range : ranges) {
        for (size_t row = 0; row < range.rows; ++row) {
            noteRange(reinterpret_cast<Address>(range.address) + row * range.pitch, range.bytes, direction);
        }
    }
}

}  // namespace

SIM_API int cuStreamCreate(void** stream, unsigned flags) {
    return guarded([&] {
        constexpr unsigned NON_BLOCKING = 1;
        *stream = newStream(currentDevice(), flags == NON_BLOCKING ? Order::NON_BLOCKING : Order::WITH_DEFAULT);
        return SUCCESS;
    });
}

// Work is scheduled without regard to priorities, which are those of cuCtxGetStreamPriorityRange.
SIM_API int cuStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
    int result = cuStreamCreate(stream, flags);
    if (result == SUCCESS) {
        streamOf(*stream)->priority = std::clamp(priority, -5, 0);
    }
    return result;
}

SIM_API int cuStreamGetPriority(void* stream, int* priority) {
    return guarded([&] {
        *priority = streamOf(stream)->priority;
        return SUCCESS;
    });
}

SIM_API int cuStreamDestroy_v2(void* stream) {
    return guarded([&] {
        Stream* destroyed = streamOf(stream);
        needNotCapturing(destroyed, "cuStreamDestroy");
        destroyStream(destroyed);
        return SUCCESS;
    });
}

SIM_API int cuStreamSynchronize(void* stream) {
    return guarded([&] {
        synchronize(waitable(stream, "cuStreamSynchronize"));
        return SUCCESS;
    });
}

SIM_API int cuStreamQuery(void* handle) {
    return guarded([&] {
        Stream* stream = waitable(handle, "cuStreamQuery");
        if (!poll(stream)) {
            return NOT_READY;
        }
        synchronize(stream);
        return SUCCESS;
    });
}

SIM_API int cuStreamWaitEvent(void* stream, void* event, unsigned) {
    return guarded([&] {
        waitForEvent(usableStream(stream), *eventOf(event));
        return SUCCESS;
    });
}

SIM_API int cuEventCreate(void** event, unsigned flags) {
    return guarded([&] {
        constexpr unsigned DISABLE_TIMING = 2;
        currentDevice();
        auto made = std::make_unique<Event>();
        made->timed = (flags & DISABLE_TIMING) == 0;
        events.insert(made.get());
        *event = made.release();
        return SUCCESS;
    });
}

SIM_API int cuEventDestroy_v2(void* handle) {
    return guarded([&] {
        Event* event = eventOf(handle);
        events.erase(event);
        delete event;
        return SUCCESS;
    });
}

SIM_API int cuEventRecord(void* event, void* stream) {
    return guarded([&] {
        recordEvent(*eventOf(event), usableStream(stream));
        return SUCCESS;
    });
}

SIM_API int cuEventSynchronize(void* event) {
    return guarded([&] {
        synchronize(*waitable(eventOf(event), "cuEventSynchronize"));
        return SUCCESS;
    });
}

SIM_API int cuEventQuery(void* handle) {
    return guarded([&] {
        Event* event = waitable(eventOf(handle), "cuEventQuery");
        if (!poll(*event)) {
            return NOT_READY;
        }
        synchronize(*event);
        return SUCCESS;
    });
}

SIM_API int cuEventElapsedTime(float* milliseconds, void* start, void* end) {
    return guarded([&] {
        Event* from = eventOf(start);
        Event* to = eventOf(end);
        needNotCaptured(*from, "cuEventElapsedTime");
        needNotCaptured(*to, "cuEventElapsedTime");
        if (from->stream == nullptr || to->stream == nullptr || !from->timed || !to->timed) {
            refuse(INVALID_HANDLE, "elapsed time of events that were not recorded, or were made without timing");
        }
        if (!from->reached() || !to->reached()) {
            return NOT_READY;
        }
        *milliseconds = static_cast<float>(*to->milliseconds - *from->milliseconds);
        return SUCCESS;
    });
}

SIM_API int cuEventElapsedTime_v2(float* milliseconds, void* start, void* end) {
    return cuEventElapsedTime(milliseconds, start, end);
}

SIM_API void sim_spend(double milliseconds) {
    spend(milliseconds);
}

SIM_API int sim_enqueue(void* stream, const char* name, SimWork work, SimWork release, void* context,
    const SimRange* reads, int readCount, const SimRange* writes, int writeCount) {
    return sim_enqueue_when(stream, name, nullptr, work, release, context, reads, readCount, writes, writeCount);
}

SIM_API int sim_enqueue_when(void* stream, const char* name, SimReady ready, SimWork work, SimWork release,
    void* context, const SimRange* reads, int readCount, const SimRange* writes, int writeCount) {
    std::shared_ptr<void> owned(context, [=](void* pointer) {
        if (release != nullptr) {
            release(pointer);
        }
    });
    return guarded([&] {
        std::vector<SimRange> in(reads, reads + readCount);
        std::vector<SimRange> out(writes, writes + writeCount);
        Task task;
        task.name = name;
        task.run = [=] {
            forgetAllocations();
            noteRanges(in, Direction::READ);
            noteRanges(out, Direction::WRITE);
            work(owned.get());
        };
        if (ready != nullptr) {
            goOnAlone();
            task.ready = [=] { return ready(owned.get()) != 0; };
        }
        issue(usableStream(stream), std::move(task));
        return SUCCESS;
    });
}
