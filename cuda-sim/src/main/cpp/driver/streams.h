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
struct Capture;

using Clock = std::vector<uint32_t>;  // by the number of a stream: so many of its operations are ordered before

using Goals = std::vector<std::pair<Stream*, uint32_t>>;  // streams, and how far they must have come

using Work = std::function<void()>;

// What an operation does. What it owns is held by its functions, and freed with them.
struct Task {
    std::string name;
    Work run;
    std::function<Work()> prepare;   // instead of run: makes it, whenever the operation is put on a stream
    std::function<bool()> ready;     // whether it can run now; none: at once
    const void* host = nullptr;      // pinned memory that it uses
    size_t hostBytes = 0;
    bool writesHost = false;
};

struct Operation : Task {
    uint32_t number = 0;    // of all operations of the process, from 1
    Stream* stream = nullptr;
    uint32_t sequence = 0;  // in its stream, from 1
    uint32_t settled = 0;   // operations up to this number had ended, and the host knew, when it was issued
    Clock clock;
    Goals after;
};

enum class Order { WITH_DEFAULT, NON_BLOCKING };

struct Stream {
    int number = 0;
    int device = 0;
    Order order = Order::WITH_DEFAULT;
    bool live = true;
    std::string title;            // "stream 2", for messages
    Capture* capture = nullptr;   // under way, to which its operations go
    std::vector<size_t> tips;     // the nodes of the capture that its next one comes after
    uint32_t issued = 0;
    uint32_t done = 0;
    Clock clock;
    Goals after;  // for the next operation
    std::deque<Operation> queue;
};

struct Event {
    Stream* stream = nullptr;  // null: never recorded
    uint32_t sequence = 0;
    Clock clock;
    bool timed = true;
    uint64_t capture = 0;      // in which it was recorded last; 0: in none
    std::vector<size_t> tips;  // the nodes of the capture that come before it
    std::shared_ptr<double> milliseconds;  // when it was reached
    bool reached() const { return stream == nullptr || stream->done >= sequence; }
};

Stream* newStream(int device, Order order);
void destroyStream(Stream* stream);

// The stream of a handle, where null is the default stream of the current device.
Stream* streamOf(void* handle);

bool isDefault(const Stream* stream);

// Puts an operation on a stream, captured or not. All but launches of graphs go by way of a capture (capture.h).
void enqueue(Stream* stream, const Task& task);

// What has been put on the stream up to now, as an event.
Event reachedBy(const Stream* stream);

void record(Event& event, Stream* stream);
void wait(Stream* stream, const Event& event);

// Run what is needed, and the host knows it has ended. Where what is needed is not ready, the other streams go on, and
// the machine's lock is free between two looks: other threads may call in, and change what is queued.
void synchronize(Stream* stream);
void synchronize(const Event& event);
void synchronizeDevice(int device);
void synchronizeAll();

// Forgets what the streams of a device have not run; the streams are destroyed.
void dropQueued(int device);

// Whether a stream has come as far as all its operations, or an event was reached. If not, runs at most one operation:
// one that this needs or, where none of those is ready, another.
bool poll(Stream* stream);
bool poll(const Event& event);

// Runs one operation that is to be run when it is ready, or one that it waits for; false if none is ready.
bool advanceAwaited();

// The operation that runs now, or null.
const Operation* running();

// The pending operation that uses some of this memory of the host, or null.
const Operation* pendingOn(const void* host, size_t bytes);

}  // namespace sim
