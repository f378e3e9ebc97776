#include "streams.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "device.h"
#include "errors.h"

namespace sim {
namespace {

struct Issued {
    int stream;
    uint32_t sequence;
    const std::string* name;
};

constexpr size_t REMEMBERED = 200000;

std::vector<std::unique_ptr<Stream>> streams;
std::deque<Issued> history;    // operations by number, from `oldest` on
uint32_t oldest = 1;
uint32_t settled = 0;
std::set<std::string> names;
Clock known;                   // what the host knows to have ended
const Operation* current = nullptr;

uint32_t at(const Clock& clock, int stream) {
    return static_cast<size_t>(stream) < clock.size() ? clock[stream] : 0;
}

void join(Clock& clock, const Clock& other) {
    clock.resize(std::max(clock.size(), other.size()));
    for (size_t i = 0; i < other.size(); ++i) {
        clock[i] = std::max(clock[i], other[i]);
    }
}

void raise(Clock& clock, const Stream& stream, uint32_t sequence) {
    clock.resize(std::max<size_t>(clock.size(), stream.number + 1));
    clock[stream.number] = std::max(clock[stream.number], sequence);
}

// The host learns that all before this has ended.
void learn(const Clock& clock) {
    join(known, clock);
    while (settled + 1 - oldest < history.size()) {
        const Issued& next = history[settled + 1 - oldest];
        if (next.sequence > at(known, next.stream)) {
            break;
        }
        ++settled;
    }
    while (history.size() > REMEMBERED && oldest <= settled) {
        history.pop_front();
        ++oldest;
    }
}

void runUntil(Stream* stream, uint32_t sequence);

void runFirst(Stream* stream) {
    for (auto [other, sequence] : stream->queue.front().after) {
        runUntil(other, sequence);
    }
    Operation operation = std::move(stream->queue.front());
    stream->queue.pop_front();
    const Operation* outer = current;
    current = &operation;
    try {
        if (operation.run) {
            operation.run();
        }
    } catch (...) {
        current = outer;
        if (operation.drop) {
            operation.drop();
        }
        throw;
    }
    current = outer;
    stream->done = operation.sequence;
    if (operation.drop) {
        operation.drop();
    }
}

void runUntil(Stream* stream, uint32_t sequence) {
    while (stream->done < sequence) {
        runFirst(stream);
    }
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

bool overlap(const Operation& operation, const char* host, size_t bytes) {
    const char* own = static_cast<const char*>(operation.host);
    return own != nullptr && own < host + bytes && host < own + operation.hostBytes;
}

}  // namespace

Stream* newStream(int device, Order order) {
    streams.push_back(std::make_unique<Stream>());
    Stream* stream = streams.back().get();
    stream->number = static_cast<int>(streams.size()) - 1;
    stream->device = device;
    stream->order = order;
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

Operation& issue(Stream* stream, std::string name, std::function<void()> run) {
    followDefault(stream);
    join(stream->clock, known);
    stream->queue.emplace_back();
    Operation& operation = stream->queue.back();
    operation.number = oldest + static_cast<uint32_t>(history.size());
    operation.stream = stream;
    operation.sequence = ++stream->issued;
    operation.settled = settled;
    operation.clock = stream->clock;
    operation.after = std::move(stream->after);
    operation.name = std::move(name);
    operation.run = std::move(run);
    stream->after.clear();
    history.push_back({stream->number, operation.sequence, &*names.insert(operation.name).first});
    return operation;
}

void record(Event& event, Stream* stream) {
    auto reached = std::make_shared<double>(0);
    issue(stream, "event", [reached] {
        auto now = std::chrono::steady_clock::now().time_since_epoch();
        *reached = std::chrono::duration<double, std::milli>(now).count();
    });
    event.stream = stream;
    event.sequence = stream->issued;
    event.clock = stream->clock;
    raise(event.clock, *stream, stream->issued);
    event.milliseconds = reached;
}

void wait(Stream* stream, const Event& event) {
    if (event.stream != nullptr) {
        join(stream->clock, event.clock);
        stream->after.emplace_back(event.stream, event.sequence);
    }
}

void synchronize(Stream* stream) {
    for (auto [other, sequence] : stream->after) {
        runUntil(other, sequence);
    }
    runUntil(stream, stream->issued);
    Clock clock = stream->clock;
    raise(clock, *stream, stream->issued);
    learn(clock);
}

void synchronize(const Event& event) {
    if (event.stream != nullptr) {
        runUntil(event.stream, event.sequence);
        learn(event.clock);
    }
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
    for (auto& stream : streams) {
        if (stream->device != device) {
            continue;
        }
        for (Operation& operation : stream->queue) {
            if (operation.drop) {
                operation.drop();
            }
        }
        stream->queue.clear();
        stream->after.clear();
        stream->done = stream->issued;
        raise(known, *stream, stream->issued);
        stream->live = stream.get() == streams[device].get();
    }
    learn({});
}

bool poll(Stream* stream, uint32_t sequence) {
    bool ended = stream->done >= sequence;
    if (!ended) {
        runFirst(stream);
    }
    return ended;
}

const Operation* running() {
    return current;
}

bool ordered(uint32_t number) {
    if (number <= current->settled || number < oldest) {
        return true;
    }
    const Issued& other = history[number - oldest];
    return other.stream == current->stream->number ? other.sequence <= current->sequence
        : other.sequence <= at(current->clock, other.stream);
}

std::string whereIs(uint32_t number) {
    if (current != nullptr && number == current->number) {
        return format("stream %d (operation %s)", current->stream->number, current->name.c_str());
    }
    if (number < oldest) {
        return format("a stream (operation number %u)", number);
    }
    const Issued& issued = history[number - oldest];
    return format("stream %d (operation %s)", issued.stream, issued.name->c_str());
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
