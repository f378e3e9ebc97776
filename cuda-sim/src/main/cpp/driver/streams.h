// Streams and events. An operation stays in its stream's queue until a synchronization or query needs it. Which
// operations may run concurrently does not depend on when they run here: each operation has a vector clock, which says
// how many operations of each stream are ordered before it.
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

using Clock = std::vector<uint32_t>;  // indexed by stream number: how many of its operations are ordered before

using Goals = std::vector<std::pair<Stream*, uint32_t>>;  // streams, and the sequence number that each must reach

using Work = std::function<void()>;

// The work of an operation. Its functions own its resources, which are freed with them.
struct Task {
    std::string name;
    Work run;
    std::function<Work()> prepare;   // if set, creates `run` whenever the operation is put on a stream
    std::function<bool()> ready;     // whether it can run now; empty: always
    const void* host = nullptr;      // pinned memory that it uses
    size_t hostBytes = 0;
    bool writesHost = false;
};

struct Operation : Task {
    uint32_t number = 0;    // among all operations of the process, from 1
    Stream* stream = nullptr;
    uint32_t sequence = 0;  // in its stream, from 1
    uint32_t settled = 0;   // at its issue, the host knew that all operations up to this number had ended
    Clock clock;
    Goals after;
};

enum class Order { WITH_DEFAULT, NON_BLOCKING };

struct Stream {
    int number = 0;
    int device = 0;
    Order order = Order::WITH_DEFAULT;
    bool live = true;
    int priority = 0;
    std::string title;            // "stream 2", for messages
    Capture* capture = nullptr;   // the capture in progress that takes its operations, or null
    std::vector<size_t> tips;     // the nodes that its next node depends on
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
    uint64_t capture = 0;      // id of the capture that it was last recorded in; 0: none
    std::vector<size_t> tips;  // the nodes of the capture before it
    std::shared_ptr<double> milliseconds;  // when it was reached
    bool reached() const { return stream == nullptr || stream->done >= sequence; }
};

Stream* newStream(int device, Order order);
void destroyStream(Stream* stream);

// The stream of a handle, where null is the default stream of the current device.
Stream* streamOf(void* handle);

bool isDefault(const Stream* stream);

// Queues an operation, even if the stream is captured. All callers but graph launches use issue() of capture.h.
void enqueue(Stream* stream, const Task& task);

// An event behind all operations issued to the stream so far.
Event reachedBy(const Stream* stream);

void record(Event& event, Stream* stream);
void wait(Stream* stream, const Event& event);

// Run the operations that the goal needs; afterwards the host knows that they have ended. While an operation is not
// ready, other streams go on. The machine's lock is released between two polls, so other threads may queue more work.
void synchronize(Stream* stream);
void synchronize(const Event& event);
void synchronizeDevice(int device);
void synchronizeAll();

// Drops the queued operations of a device and destroys its streams.
void dropQueued(int device);

// Whether a stream has run all its operations, or an event was reached. If not, runs at most one operation: one that is
// needed for it or, if none of those is ready, another.
bool poll(Stream* stream);
bool poll(const Event& event);

// Runs one operation that has a `ready` function, or one that it waits for; false if none is ready.
bool advanceAwaited();

// Makes events that are reached from now on measure a later time.
void spend(double milliseconds);

// The running operation, or null.
const Operation* running();

// A pending operation that uses part of this host memory, or null.
const Operation* pendingOn(const void* host, size_t bytes);

}  // namespace sim
