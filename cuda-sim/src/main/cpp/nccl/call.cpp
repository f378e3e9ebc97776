#include "call.h"

#include "status.h"

namespace nccl {
namespace {

const char* kindName(Kind kind) {
    constexpr const char* NAMES[] = {"all-reduce", "all-gather", "reduce-scatter", "broadcast", "reduce", "send",
        "receive"};
    return NAMES[static_cast<int>(kind)];
}

std::string describe(const Call& call) {
    return describe(call.kind, call.count, call.type, call.op, call.root);
}

Status refuse(Status status, const Comm& comm, const Call& call, const std::string& why) {
    return refuse(status, format("nccl %s on rank %d: %s", describe(call).c_str(), comm.rank, why.c_str()));
}

size_t sendBytes(const Comm& comm, const Call& call) {
    return call.count * bytesOf(call.type) * (call.kind == Kind::REDUCE_SCATTER ? comm.size : 1);
}

size_t receiveBytes(const Comm& comm, const Call& call) {
    return call.count * bytesOf(call.type) * (call.kind == Kind::ALL_GATHER ? comm.size : 1);
}

void leaveOut(const Comm& comm, Call& call) {
    bool root = comm.rank == call.root;
    if (call.kind == Kind::BROADCAST && !root) {
        call.send = nullptr;
    }
    if (call.kind == Kind::REDUCE && !root) {
        call.receive = nullptr;
    }
}

Status checkPlace(const Comm& comm, const Call& call, const void* address, size_t bytes, const char* which) {
    if (bytes == 0 || sim_is_device_memory(address, bytes)) {
        return SUCCESS;
    }
    return refuse(INVALID_ARGUMENT, comm, call, format("the %zu bytes of the %s buffer at %p are not all in device "
        "memory", bytes, which, address));
}

// In place means: at this rank's part of the larger buffer, or the very same buffer.
Status checkInPlace(const Comm& comm, const Call& call) {
    if (call.send == nullptr || call.receive == nullptr) {
        return SUCCESS;
    }
    SimRange in = {call.send, sendBytes(comm, call), 1, 0};
    SimRange out = {call.receive, receiveBytes(comm, call), 1, 0};
    size_t part = static_cast<size_t>(comm.rank) * call.count * bytesOf(call.type);
    size_t inPart = call.kind == Kind::REDUCE_SCATTER ? part : 0;
    size_t outPart = call.kind == Kind::ALL_GATHER ? part : 0;
    bool inPlace = static_cast<const char*>(call.send) + inPart == static_cast<char*>(call.receive) + outPart;
    if (!overlap(in, out) || inPlace) {
        return SUCCESS;
    }
    return refuse(INVALID_USAGE, comm, call, "the buffers overlap and the call is not in place: that takes the same "
        "address, for all-gather and reduce-scatter that of this rank's part of the larger buffer");
}

Status checkBuffers(const Comm& comm, const Call& call) {
    Status status = call.send == nullptr && (call.receive != nullptr || call.count == 0) ? SUCCESS
        : checkPlace(comm, call, call.send, sendBytes(comm, call), "send");
    if (status == SUCCESS && call.receive != nullptr) {
        status = checkPlace(comm, call, call.receive, receiveBytes(comm, call), "receive");
    }
    return status == SUCCESS ? checkInPlace(comm, call) : status;
}

}  // namespace

bool isCollective(Kind kind) {
    return kind != Kind::SEND && kind != Kind::RECEIVE;
}

bool isReduction(Kind kind) {
    return kind == Kind::ALL_REDUCE || kind == Kind::REDUCE_SCATTER || kind == Kind::REDUCE;
}

std::string describe(Kind kind, uint64_t count, int type, int op, int root) {
    std::string text = format("%s of %zu %s", kindName(kind), static_cast<size_t>(count), nameOf(type));
    if (isReduction(kind)) {
        text += std::string(" ") + operatorName(op);
    }
    if (kind == Kind::BROADCAST || kind == Kind::RECEIVE) {
        text += format(" from rank %d", root);
    } else if (kind == Kind::REDUCE || kind == Kind::SEND) {
        text += format(" to rank %d", root);
    }
    return text;
}

Status check(const Comm& comm, Call& call) {
    if (bytesOf(call.type) == 0) {
        return refuse(INVALID_ARGUMENT, comm, call, format("type %d is not simulated", call.type));
    }
    if (call.op < SUM || call.op > PREMUL_SUM) {
        return refuse(INVALID_ARGUMENT, comm, call, format("there is no operator %d", call.op));
    }
    if (call.root < 0 || call.root >= comm.size) {
        return refuse(INVALID_ARGUMENT, comm, call, format("there is no rank %d, there are %d", call.root, comm.size));
    }
    bool gives = call.kind != Kind::RECEIVE && (call.kind != Kind::BROADCAST || comm.rank == call.root);
    bool gets = call.kind != Kind::SEND && (call.kind != Kind::REDUCE || comm.rank == call.root);
    if (call.count > 0 && ((gives && call.send == nullptr) || (gets && call.receive == nullptr))) {
        return refuse(INVALID_ARGUMENT, comm, call, "a buffer is null");
    }
    leaveOut(comm, call);
    return checkBuffers(comm, call);
}

std::vector<SimRange> reads(const Comm& comm, const Call& call) {
    std::vector<SimRange> ranges;
    if (call.send != nullptr && call.count > 0) {
        ranges.push_back({call.send, sendBytes(comm, call), 1, 0});
    }
    if (call.factor.onDevice != nullptr) {
        ranges.push_back({call.factor.onDevice, bytesOf(call.type), 1, 0});
    }
    return ranges;
}

std::vector<SimRange> writes(const Comm& comm, const Call& call) {
    std::vector<SimRange> ranges;
    if (call.receive != nullptr && call.count > 0) {
        ranges.push_back({call.receive, receiveBytes(comm, call), 1, 0});
    }
    return ranges;
}

bool overlap(const SimRange& first, const SimRange& second) {
    auto a = reinterpret_cast<uintptr_t>(first.address);
    auto b = reinterpret_cast<uintptr_t>(second.address);
    return a < b + second.bytes && b < a + first.bytes;
}

}  // namespace nccl
