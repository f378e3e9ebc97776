#include "group.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "exchange.h"
#include "status.h"

namespace nccl {
namespace {

struct Grouped {
    std::shared_ptr<Comm> comm;
    Call call;
    void* stream;
};

struct Group {
    int depth = 0;
    Status status = SUCCESS;
    std::vector<Grouped> calls;
};

// CUDA_ERROR_INVALID_HANDLE
constexpr int INVALID_HANDLE = 400;

thread_local Group group;

struct Part {
    Call call;
    Progress progress;
    bool done = false;
};

// What one operation of a stream does.
struct Unit {
    std::shared_ptr<Comm> comm;
    std::vector<Part> parts;
};

// Calls with the same peers run one after the other: all collectives, the sends to one rank, the receives from one.
bool sameWay(const Call& a, const Call& b) {
    return isCollective(a.kind) ? isCollective(b.kind) : a.kind == b.kind && a.root == b.root;
}

bool isNext(const Unit& unit, size_t index) {
    for (size_t i = 0; i < index; ++i) {
        if (!unit.parts[i].done && sameWay(unit.parts[i].call, unit.parts[index].call)) {
            return false;
        }
    }
    return true;
}

bool advanceAll(Unit& unit) {
    bool moved = false;
    for (size_t i = 0; i < unit.parts.size(); ++i) {
        Part& part = unit.parts[i];
        if (part.done || !isNext(unit, i)) {
            continue;
        }
        Advance result = advance(*unit.comm, part.call, part.progress);
        part.done = result == Advance::DONE;
        moved = moved || result != Advance::STANDS;
    }
    return moved;
}

bool allDone(const Unit& unit) {
    for (const Part& part : unit.parts) {
        if (!part.done) {
            return false;
        }
    }
    return true;
}

// A rank that has ended is an asynchronous error; the operation is blocked until an abort, as in NCCL.
int ready(void* context) {
    Unit& unit = *static_cast<Unit*>(context);
    Comm& comm = *unit.comm;
    if (comm.state == State::ABORTED) {
        return 1;
    }
    if (comm.state == State::DESTROYED) {
        sim_fail(INVALID_HANDLE, "nccl: an operation runs after its communicator was destroyed");
    }
    bool moved = false;
    while (advanceAll(unit)) {
        moved = true;
    }
    if (!moved && !allDone(unit) && comm.error == SUCCESS) {
        int dead = comm.segment->dead();
        if (dead >= 0 && !advanceAll(unit)) {
            comm.error = refuse(REMOTE_ERROR, format("nccl: process %d, rank %d, has ended while rank %d waits for "
                "it", comm.segment->pid(dead), dead, comm.rank));
        }
    }
    return allDone(unit);
}

// The operation has ended; a graph may launch it again.
void work(void* context) {
    for (Part& part : static_cast<Unit*>(context)->parts) {
        part.progress = {};
        part.done = false;
    }
}

void release(void* context) {
    auto unit = static_cast<Unit*>(context);
    --unit->comm->pending;
    delete unit;
}

void nothing(void*) { }

std::string nameOf(const Unit& unit) {
    const Call& first = unit.parts[0].call;
    std::string text = describe(first.kind, first.count, first.type, first.op, first.root);
    return unit.parts.size() == 1 ? "nccl " + text : format("nccl group of %zu, %s first", unit.parts.size(),
        text.c_str());
}

// The memory is checked before the data is sent, so the check is a separate operation.
Status enqueue(std::unique_ptr<Unit> unit, void* stream) {
    std::vector<SimRange> in;
    std::vector<SimRange> out;
    for (const Part& part : unit->parts) {
        for (const SimRange& range : reads(*unit->comm, part.call)) {
            in.push_back(range);
        }
        for (const SimRange& range : writes(*unit->comm, part.call)) {
            out.push_back(range);
        }
    }
    std::string name = nameOf(*unit);
    int error = sim_enqueue(stream, name.c_str(), nothing, nullptr, nullptr, in.data(), static_cast<int>(in.size()),
        out.data(), static_cast<int>(out.size()));
    if (error == 0) {
        ++unit->comm->pending;
        error = sim_enqueue_when(stream, name.c_str(), ready, work, release, unit.release(), nullptr, 0, nullptr, 0);
    }
    return error == 0 ? SUCCESS : refuse(UNHANDLED_CUDA_ERROR, name + format(": error %d of the driver", error));
}

// The calls of a group may run in any order, or at once.
Status checkApart(const Unit& unit) {
    for (const Part& part : unit.parts) {
        for (const Part& other : unit.parts) {
            if (&part == &other) {
                continue;
            }
            for (const SimRange& written : writes(*unit.comm, part.call)) {
                std::vector<SimRange> touched = reads(*unit.comm, other.call);
                for (const SimRange& range : writes(*unit.comm, other.call)) {
                    touched.push_back(range);
                }
                for (const SimRange& range : touched) {
                    if (overlap(written, range)) {
                        return refuse(INVALID_USAGE, nameOf(unit) + ": a call writes what another call of the group "
                            "uses, and nothing orders the two");
                    }
                }
            }
        }
    }
    return SUCCESS;
}

// A rank that sends to itself must receive that in the same group.
Status checkSelf(const Unit& unit) {
    int open = 0;
    for (const Part& part : unit.parts) {
        if (!isCollective(part.call.kind) && part.call.root == unit.comm->rank) {
            open += part.call.kind == Kind::SEND ? 1 : -1;
        }
    }
    return open == 0 ? SUCCESS : refuse(INVALID_USAGE, nameOf(unit) + format(": rank %d sends to itself and receives "
        "from itself unequally often in the group", unit.comm->rank));
}

// By default NCCL connects the ranks in their first collective: the call blocks until all ranks have made it.
Status connect(Comm& comm) {
    const char* late = getenv("NCCL_RUNTIME_CONNECT");
    if (comm.connected || (late != nullptr && strcmp(late, "0") == 0)) {
        return SUCCESS;
    }
    comm.connected = true;
    comm.segment->connect();
    while (!comm.segment->connected() && comm.segment->dead() < 0) {
        if (comm.state == State::ABORTED) {
            return refuse(INVALID_USAGE, format("rank %d: aborted while it connects with the others", comm.rank));
        }
        usleep(1000);
    }
    return SUCCESS;
}

// Takes the calls of the first communicator in the list out of it, and issues them.
Status issueFirst(std::vector<Grouped>& calls) {
    auto unit = std::make_unique<Unit>();
    unit->comm = calls[0].comm;
    void* stream = calls[0].stream;
    bool oneStream = true;
    std::vector<Grouped> others;
    for (Grouped& grouped : calls) {
        if (grouped.comm == unit->comm) {
            unit->parts.push_back({grouped.call, {}, false});
            oneStream = oneStream && grouped.stream == stream;
        } else {
            others.push_back(grouped);
        }
    }
    calls = std::move(others);
    if (!oneStream) {
        return refuse(INVALID_USAGE, nameOf(*unit) + ": one communicator on several streams in one group is not "
            "simulated");
    }
    Status status = checkApart(*unit);
    status = status == SUCCESS ? checkSelf(*unit) : status;
    if (status == SUCCESS && isCollective(unit->parts[0].call.kind)) {
        status = connect(*unit->comm);
    }
    return status == SUCCESS ? enqueue(std::move(unit), stream) : status;
}

}  // namespace

Status issue(std::shared_ptr<Comm> comm, const Call& call, void* stream) {
    group.calls.push_back({std::move(comm), call, stream});
    if (group.depth > 0) {
        return SUCCESS;
    }
    return issueFirst(group.calls);
}

bool inGroup() {
    return group.depth > 0;
}

Status failGroup(Status status) {
    if (group.depth > 0 && group.status == SUCCESS) {
        group.status = status;
    }
    return status;
}

Status startGroup() {
    ++group.depth;
    return SUCCESS;
}

Status endGroup() {
    if (group.depth == 0) {
        return refuse(INVALID_USAGE, "ncclGroupEnd: no group is open on this thread");
    }
    if (--group.depth > 0) {
        return SUCCESS;
    }
    Group ended = std::move(group);
    group = {};
    while (ended.status == SUCCESS && !ended.calls.empty()) {
        ended.status = issueFirst(ended.calls);
    }
    return ended.status;
}

}  // namespace nccl
