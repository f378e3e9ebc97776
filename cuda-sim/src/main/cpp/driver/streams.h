// Streams and events. An operation waits in its stream's queue until something asks for it. What may run beside what is
// kept apart from when it runs here: each operation has a vector clock, how many operations of each stream are ordered
// before it.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace sim {

struct Stream;

using Clock = std::vector<uint32_t>;  // by the number of a stream: so many of its operations are ordered before

struct Operation {
    uint32_t number = 0;    // of all operations of the process, from 1
    Stream* stream = nullptr;
    uint32_t sequence = 0;  // in its stream, from 1
    uint32_t settled = 0;   // operations up to this number had ended, and the host knew, when it was issued
    Clock clock;
    std::vector<std::pair<Stream*, uint32_t>> after;  // streams, and how far they must have come
    std::string name;
    std::function<void()> run;
    std::function<void()> drop;      // after it has run, or instead
    const void* host = nullptr;      // pinned memory that it uses
    size_t hostBytes = 0;
    bool writesHost = false;
};

enum class Order { WITH_DEFAULT, NON_BLOCKING };

struct Stream {
    int number = 0;
    int device = 0;
    Order order = Order::WITH_DEFAULT;
    bool live = true;
    uint32_t issued = 0;
    uint32_t done = 0;
    Clock clock;
    std::vector<std::pair<Stream*, uint32_t>> after;  // for the next operation
    std::deque<Operation> queue;
};

struct Event {
    Stream* stream = nullptr;  // null: never recorded
    uint32_t sequence = 0;
    Clock clock;
    bool timed = true;
    std::shared_ptr<double> milliseconds;  // when it was reached
    bool reached() const { return stream == nullptr || stream->done >= sequence; }
};

Stream* newStream(int device, Order order);
void destroyStream(Stream* stream);

// The stream of a handle, where null is the default stream of the current device.
Stream* streamOf(void* handle);

// Puts an operation on a stream. The reference is good until the stream runs.
Operation& issue(Stream* stream, std::string name, std::function<void()> run);

void record(Event& event, Stream* stream);
void wait(Stream* stream, const Event& event);

// Run what is needed, and the host knows it has ended.
void synchronize(Stream* stream);
void synchronize(const Event& event);
void synchronizeDevice(int device);
void synchronizeAll();

// Forgets what the streams of a device have not run; the streams are destroyed.
void dropQueued(int device);

// Runs at most one operation of a stream; whether the stream has then come as far as `sequence`.
bool poll(Stream* stream, uint32_t sequence);

// The operation that runs now, or null.
const Operation* running();

// Whether the operation with this number is ordered before the running one.
bool ordered(uint32_t number);

// "stream 2 (operation layer_norm)", for messages.
std::string whereIs(uint32_t number);

// The pending operation that uses some of this memory of the host, or null.
const Operation* pendingOn(const void* host, size_t bytes);

}  // namespace sim
