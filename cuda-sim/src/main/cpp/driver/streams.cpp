#include "streams.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "api.h"
#include "device.h"
#include "errors.h"
#include "history.h"

namespace sim {
namespace {

std::vector<std::unique_ptr<Stream>> streams;
const Operation* current = nullptr;
double spent = 0;  // simulated milliseconds, in addition to those of the clock

void runFirst(Stream* stream) {
    Operation operation = std::move(stream->queue.front());
    stream->queue.pop_front();
    const Operation* outer = current;
    current = &operation;
    try {
        operation.run();
    } catch (...) {
        current = outer;
        throw;
    }
    current = outer;
    stream->done = operation.sequence;
}

// Runs one operation: the first of the stream, or one that it waits for; false if none of these is ready.
bool advance(Stream* stream) {
    if (stream->queue.empty()) {
        return false;
    }
    const Operation& first = stream->queue.front();
    bool waits = false;
    for (auto [other, sequence] : first.after) {
        if (other->done < sequence) {
            if (advance(other)) {
                return true;
            }
            waits = true;
        }
    }
    if (waits || (first.ready && !first.ready())) {
        return false;
    }
    runFirst(stream);
    return true;
}

bool advanceAny() {
    for (size_t i = 0; i < streams.size(); ++i) {
        if (advance(streams[i].get())) {
            return true;
        }
    }
    return false;
}

bool reached(const Goals& goals) {
    return std::all_of(goals.begin(), goals.end(), [](auto goal) { return goal.first->done >= goal.second; });
}

bool advanceTo(const Goals& goals) {
    return std::any_of(goals.begin(), goals.end(), [](auto goal) {
        return goal.first->done < goal.second && advance(goal.first);
    });
}

void pause() {
    constexpr std::chrono::microseconds SHORT(50);
    machineLock().unlock();
    std::this_thread::sleep_for(SHORT);
    machineLock().lock();
    if (deviceError() != SUCCESS) {
        throw DeviceFailed();
    }
}

void runUntil(const Goals& goals) {
    while (!reached(goals)) {
        if (!advanceTo(goals) && !advanceAny()) {
            pause();
        }
    }
}

bool poll(const Goals& goals) {
    bool ended = reached(goals);
    if (!ended && !advanceTo(goals)) {
        advanceAny();
    }
    return ended;
}

Goals allOf(const Stream& stream) {
    Goals goals = stream.after;
    goals.emplace_back(const_cast<Stream*>(&stream), stream.issued);
    return goals;
}

Goals goalsOf(const Event& event) {
    return event.stream == nullptr ? Goals() : Goals{{event.stream, event.sequence}};
}

void follow(Stream* stream, Stream* other) {
    if (other != stream && other->issued > 0) {
        join(stream->clock, other->clock);
        raise(stream->clock, *other, other->issued);
        stream->after.emplace_back(other, other->issued);
    }
}

// The default stream and those that are not non-blocking wait for each other.
void followDefault(Stream* stream) {
    Stream* standard = streams[stream->device].get();
    if (stream != standard) {
        if (stream->order == Order::WITH_DEFAULT) {
            follow(stream, standard);
        }
        return;
    }
    for (auto& other : streams) {
        if (other->device == stream->device && other->order == Order::WITH_DEFAULT) {
            follow(stream, other.get());
        }
    }
}

bool overlap(const Task& task, const char* host, size_t bytes) {
    const char* own = static_cast<const char*>(task.host);
    return own != nullptr && own < host + bytes && host < own + task.hostBytes;
}

}  // namespace

Stream* newStream(int device, Order order) {
    streams.push_back(std::make_unique<Stream>());
    Stream* stream = streams.back().get();
    stream->number = static_cast<int>(streams.size()) - 1;
    stream->device = device;
    stream->order = order;
    stream->title = format("stream %d", stream->number);
    return stream;
}

void destroyStream(Stream* stream) {
    stream->live = false;
}

Stream* streamOf(void* handle) {
    constexpr uintptr_t LEGACY = 1;
    constexpr uintptr_t PER_THREAD = 2;
    uintptr_t value = reinterpret_cast<uintptr_t>(handle);
    if (value == 0 || value == LEGACY || value == PER_THREAD) {
        return streams[currentDevice()].get();
    }
    for (auto& stream : streams) {
        if (stream.get() == handle && stream->live) {
            return stream.get();
        }
    }
    refuse(INVALID_HANDLE, "no stream, or a destroyed one");
}

bool isDefault(const Stream* stream) {
    return stream == streams[stream->device].get();
}

void enqueue(Stream* stream, const Task& task) {
    Work prepared = task.prepare ? task.prepare() : task.run;
    followDefault(stream);
    join(stream->clock, knownByHost());
    Operation& operation = stream->queue.emplace_back(task);
    operation.run = std::move(prepared);
    operation.stream = stream;
    operation.sequence = ++stream->issued;
    operation.clock = stream->clock;
    operation.after = std::move(stream->after);
    stream->after.clear();
    remember(operation);
}

Event reachedBy(const Stream* stream) {
    Event event;
    event.stream = const_cast<Stream*>(stream);
    event.sequence = stream->issued;
    event.clock = stream->clock;
    raise(event.clock, *stream, stream->issued);
    return event;
}

void record(Event& event, Stream* stream) {
    auto reached = std::make_shared<double>(0);
    Task task;
    task.name = "event";
    task.run = [reached] {
        auto now = std::chrono::steady_clock::now().time_since_epoch();
        *reached = std::chrono::duration<double, std::milli>(now).count() + spent;
    };
    enqueue(stream, task);
    bool timed = event.timed;
    event = reachedBy(stream);
    event.timed = timed;
    event.milliseconds = reached;
}

void wait(Stream* stream, const Event& event) {
    if (event.stream != nullptr) {
        join(stream->clock, event.clock);
        stream->after.emplace_back(event.stream, event.sequence);
    }
}

void synchronize(Stream* stream) {
    Clock clock = stream->clock;
    raise(clock, *stream, stream->issued);
    runUntil(allOf(*stream));
    learn(clock);
}

void synchronize(const Event& event) {
    Clock clock = event.clock;
    runUntil(goalsOf(event));
    learn(clock);
}

void synchronizeDevice(int device) {
    for (size_t i = 0; i < streams.size(); ++i) {
        if (streams[i]->device == device) {
            synchronize(streams[i].get());
        }
    }
}

void synchronizeAll() {
    for (size_t i = 0; i < streams.size(); ++i) {
        synchronize(streams[i].get());
    }
}

void dropQueued(int device) {
    Clock ended;
    for (auto& stream : streams) {
        if (stream->device != device) {
            continue;
        }
        stream->queue.clear();
        stream->after.clear();
        stream->done = stream->issued;
        raise(ended, *stream, stream->issued);
        stream->live = stream.get() == streams[device].get();
    }
    learn(ended);
}

bool poll(Stream* stream) {
    return poll(allOf(*stream));
}

bool poll(const Event& event) {
    return poll(goalsOf(event));
}

bool advanceAwaited() {
    for (size_t i = 0; i < streams.size(); ++i) {
        auto& queue = streams[i]->queue;
        bool awaited = std::any_of(queue.begin(), queue.end(), [](auto& operation) { return !!operation.ready; });
        if (awaited && advance(streams[i].get())) {
            return true;
        }
    }
    return false;
}

void spend(double milliseconds) {
    spent += milliseconds;
}

const Operation* running() {
    return current;
}

const Operation* pendingOn(const void* host, size_t bytes) {
    for (auto& stream : streams) {
        for (const Operation& operation : stream->queue) {
            if (overlap(operation, static_cast<const char*>(host), bytes)) {
                return &operation;
            }
        }
    }
    return nullptr;
}

}  // namespace sim
