#include "block.h"

#include <cstring>

#include "fibers.h"
#include "shared.h"

namespace sim {

Launch launch;
Thread* self = nullptr;
Actor actor;

namespace {

constexpr int MEETINGS = 8;  // concurrent synchronizations of a warp, with disjoint masks

struct Meeting {
    uint32_t mask = 0;  // 0: free
    uint32_t arrived = 0;
    Compute compute = nullptr;
    Place place{};
    void* arguments[WARP] = {};
};

struct Barrier {
    int arrived = 0;
    int holding = 0;
    int result = 0;
    Place place{};
};

Thread threads[MOST_THREADS];
Meeting meetings[MOST_THREADS / WARP][MEETINGS];
uint32_t present[MOST_THREADS / WARP];  // lanes of each warp that have not exited
Barrier gate;
uint16_t ready[MOST_THREADS + 1];       // a ring
int readyHead = 0;
int readyTail = 0;
int exited = 0;
void* scheduler = nullptr;              // its stack pointer
Failure failure;
bool failed = false;

void makeReady(int thread) {
    ready[readyTail] = static_cast<uint16_t>(thread);
    readyTail = readyTail == MOST_THREADS ? 0 : readyTail + 1;
    threads[thread].waiting.line = 0;
}

void becomeSelf(Thread* thread) {
    self = thread;
    actor.thread = static_cast<uint32_t>(launch.blockNumber * launch.threads + thread->number);
}

// Switches to the next ready thread, or to the scheduler if there is none.
void yield() {
    Thread* from = self;
    if (readyHead == readyTail) {
        sim_switch(&from->stack, scheduler);
        return;
    }
    Thread* next = &threads[ready[readyHead]];
    readyHead = readyHead == MOST_THREADS ? 0 : readyHead + 1;
    becomeSelf(next);
    sim_switch(&from->stack, next->stack);
}

std::string at(const Place& place) {
    return format("%s:%d", place.file, place.line);
}

Failure failureOf(Code code, const std::string& what, const Place& place) {
    Index b = launch.blockIndex;
    Index t = self->index;
    return {code, format("kernel %s, block (%u, %u, %u), thread (%u, %u, %u), %s: %s", launch.kernel->title.c_str(),
        b.x, b.y, b.z, t.x, t.y, t.z, at(place).c_str(), what.c_str()), Lasting::DEVICE};
}

void finish(Meeting& meeting, int warp) {
    Meeting done = meeting;
    meeting.mask = 0;
    meeting.arrived = 0;
    memset(meeting.arguments, 0, sizeof meeting.arguments);
    done.compute(done.arguments, done.arrived);
    warpMet(warp);
    for (int lane = 0; lane < WARP; ++lane) {
        int thread = warp * WARP + lane;
        if ((done.arrived >> lane & 1) != 0 && thread != self->number) {
            makeReady(thread);
        }
    }
}

// When a thread ends, lanes of its warp that wait for it continue; threads at a block barrier would wait forever.
void leave() {
    int warp = self->warp();
    present[warp] &= ~(1u << self->lane());
    self->exited = true;
    ++exited;
    if (gate.arrived > 0) {
        failThread(LAUNCH_FAILED, "divergent barrier: this thread ended, while others wait at the barrier "
            + at(gate.place), gate.place);
    }
    for (Meeting& meeting : meetings[warp]) {
        if (meeting.mask != 0 && meeting.arrived == (meeting.mask & present[warp])) {
            finish(meeting, warp);
        }
    }
}

void threadMain() {
    launch.kernel->call(launch.parameters);
    leave();
    yield();
    __builtin_unreachable();
}

// A thread may end before its asynchronous copies have arrived.
void dropCopies(Thread& thread) {
    for (auto& group : thread.groups) {
        for (AsyncCopy& copy : group) {
            forgetShared(reinterpret_cast<uintptr_t>(copy.to), sizeof copy.bytes);
        }
    }
    thread.groups.assign(1, {});
}

void prepare() {
    int count = launch.threads;
    failed = false;
    exited = readyHead = readyTail = 0;
    gate = {};
    for (auto& warp : meetings) {
        for (Meeting& meeting : warp) {
            meeting.mask = 0;
            meeting.arrived = 0;
        }
    }
    memset(present, 0, sizeof present);
    Index i{};
    for (int t = 0; t < count; ++t) {
        Thread& thread = threads[t];
        thread.stack = newFiber(t, threadMain);
        thread.number = t;
        thread.index = i;
        thread.exited = false;
        thread.polls = 0;
        dropCopies(thread);
        makeReady(t);
        present[t / WARP] |= 1u << (t % WARP);
        if (++i.x == launch.block.x) {
            i.x = 0;
            if (++i.y == launch.block.y) {
                i.y = 0;
                ++i.z;
            }
        }
    }
}

[[noreturn]] void stuck() {
    std::string text = "the threads of the block wait for each other for ever:";
    int named = 0;
    const Thread* first = nullptr;
    for (int t = 0; t < launch.threads && named < 4; ++t) {
        const Thread& thread = threads[t];
        bool news = first == nullptr || thread.exited != first->exited || thread.waiting.line != first->waiting.line;
        if (news) {
            text += format("%s thread %d %s", named++ == 0 ? "" : ",", t, thread.exited ? "has ended"
                : format("waits at %s %s", thread.waitingFor, at(thread.waiting).c_str()).c_str());
            first = &thread;
        }
    }
    Index b = launch.blockIndex;
    breakDevice(LAUNCH_FAILED, format("kernel %s, block (%u, %u, %u): %s", launch.kernel->title.c_str(), b.x, b.y, b.z,
        text.c_str()));
}

// The synchronization of these lanes. Fails the thread if some of these lanes are at another one.
Meeting* meetingOf(uint32_t mask, Compute compute, const char* name, const Place& place) {
    Meeting* meeting = nullptr;
    for (Meeting& candidate : meetings[self->warp()]) {
        if (candidate.mask == mask) {
            meeting = &candidate;
            break;
        }
        if ((candidate.mask & mask) != 0) {
            failThread(LAUNCH_FAILED, format("divergent warp: this lane is at %s with mask %#x, others wait at %s with "
                "mask %#x", name, mask, at(candidate.place).c_str(), candidate.mask), place);
        }
        if (candidate.mask == 0 && meeting == nullptr) {
            meeting = &candidate;
        }
    }
    if (meeting->mask != 0 && (meeting->compute != compute || meeting->place.line != place.line)) {
        failThread(LAUNCH_FAILED, format("divergent warp: this lane is at %s, others wait at %s", name,
            at(meeting->place).c_str()), place);
    }
    return meeting;
}

}  // namespace

void runBlock() {
    prepare();
    beginShared();
    ++actor.interval;
    actor.blockThreads = static_cast<uint32_t>(launch.threads);
    Thread* first = &threads[ready[readyHead++]];
    becomeSelf(first);
    sim_switch(&scheduler, first->stack);
    self = nullptr;
    if (failed) {
        throw failure;
    }
    if (unwrittenRead() != nullptr) {
        throw *unwrittenRead();
    }
    if (exited < launch.threads) {
        stuck();
    }
}

void failThread(Code code, const std::string& what, const Place& place) {
    const Failure* first = unwrittenRead();
    failBlock(first != nullptr ? *first : failureOf(code, what, place));
}

void failThreadAt(Code code, const std::string& what, const void* programCounter) {
    const Failure* first = unwrittenRead();
    failBlock(first != nullptr ? *first : failureAt(code, what, programCounter));
}

Failure failureAt(Code code, const std::string& what, const void* programCounter) {
    std::string file;
    Place place = placeOf(*launch.kernel, programCounter, file);
    return failureOf(code, what, place);
}

void failBlock(const Failure& what) {
    failed = true;
    failure = what;
    void* abandoned = nullptr;
    sim_switch(&abandoned, scheduler);
    __builtin_unreachable();
}

int barrier(bool predicate, const char* name, const Place& place) {
    if (exited > 0) {
        failThread(LAUNCH_FAILED, format("divergent barrier: this thread is at %s, %d threads of the block have ended",
            name, exited), place);
    }
    if (gate.arrived > 0 && gate.place.line != place.line) {
        failThread(LAUNCH_FAILED, format("divergent barrier: this thread is at %s, others wait at the barrier %s", name,
            at(gate.place).c_str()), place);
    }
    gate.place = place;
    gate.holding += predicate ? 1 : 0;
    if (++gate.arrived < launch.threads) {
        self->waiting = place;
        self->waitingFor = name;
        yield();
        return gate.result;
    }
    gate.result = gate.holding;
    gate.arrived = gate.holding = 0;
    ++actor.interval;
    blockMet();
    for (int t = 0; t < launch.threads; ++t) {
        if (t != self->number) {
            makeReady(t);
        }
    }
    return gate.result;
}

void meet(uint32_t mask, Compute compute, void* argument, const char* name, const Place& place) {
    int warp = self->warp();
    if ((mask >> self->lane() & 1) == 0) {
        failThread(LAUNCH_FAILED, format("%s with a mask %#x that lacks the thread's own lane %d", name, mask,
            self->lane()), place);
    }
    Meeting* meeting = meetingOf(mask, compute, name, place);
    meeting->mask = mask;
    meeting->compute = compute;
    meeting->place = place;
    meeting->arguments[self->lane()] = argument;
    meeting->arrived |= 1u << self->lane();
    if (meeting->arrived == (mask & present[warp])) {
        finish(*meeting, warp);
    } else {
        self->waiting = place;
        self->waitingFor = name;
        yield();
    }
}

std::string threadName(uint32_t threadInGrid) {
    uint32_t block = threadInGrid / actor.blockThreads;
    uint32_t thread = threadInGrid % actor.blockThreads;
    Index g = launch.grid;
    Index b = launch.block;
    return format("block (%u, %u, %u), thread (%u, %u, %u)", block % g.x, block / g.x % g.y, block / g.x / g.y,
        thread % b.x, thread / b.x % b.y, thread / b.x / b.y);
}

void fence() {
    launch.fence = true;
    launch.fenced[launch.blockNumber] = 1;
}

bool handedOver(uint32_t block) {
    return launch.fence && launch.fenced[block] != 0 && launch.fenced[launch.blockNumber] != 0;
}

}  // namespace sim
