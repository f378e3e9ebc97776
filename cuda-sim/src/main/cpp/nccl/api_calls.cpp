// NCCL's operations, their operators and groups.
#include <cstring>

#include "group.h"
#include "status.h"

using namespace nccl;

namespace {

// An operator that the communicator has made is PREMUL_SUM with its factor.
Status resolve(Comm& comm, Call& call) {
    if (call.op < PREMUL_SUM) {
        return SUCCESS;
    }
    std::lock_guard<std::mutex> hold(comm.lock);
    auto index = static_cast<size_t>(call.op - PREMUL_SUM);
    if (index >= comm.factors.size() || !comm.factors[index].live) {
        return refuse(INVALID_ARGUMENT, format("nccl: operator %d %s", call.op, index < comm.factors.size()
            ? "was destroyed" : "was not made by this communicator"));
    }
    if (comm.factors[index].type != call.type) {
        return refuse(INVALID_ARGUMENT, format("nccl: operator %d is for %s, and the call's type is %s", call.op,
            nameOf(comm.factors[index].type), nameOf(call.type)));
    }
    call.op = PREMUL_SUM;
    call.factor = comm.factors[index];
    return SUCCESS;
}

int issue(const char* name, void* handle, Call call, void* stream) {
    Status status = SUCCESS;
    std::shared_ptr<Comm> comm = find(handle, name, status);
    if (comm != nullptr && comm->state != State::LIVE) {
        status = refuse(INVALID_USAGE, std::string(name) + ": the communicator was finalized");
    }
    status = status == SUCCESS ? resolve(*comm, call) : status;
    status = status == SUCCESS ? check(*comm, call) : status;
    return status == SUCCESS ? issue(std::move(comm), call, stream) : failGroup(status);
}

}  // namespace

NCCL_API int ncclAllReduce(const void* send, void* receive, size_t count, int type, int op, void* comm, void* stream) {
    return issue("ncclAllReduce", comm, {Kind::ALL_REDUCE, send, receive, count, type, op}, stream);
}

NCCL_API int ncclReduce(const void* send, void* receive, size_t count, int type, int op, int root, void* comm,
    void* stream) {
    return issue("ncclReduce", comm, {Kind::REDUCE, send, receive, count, type, op, root}, stream);
}

NCCL_API int ncclReduceScatter(const void* send, void* receive, size_t count, int type, int op, void* comm,
    void* stream) {
    return issue("ncclReduceScatter", comm, {Kind::REDUCE_SCATTER, send, receive, count, type, op}, stream);
}

NCCL_API int ncclAllGather(const void* send, void* receive, size_t count, int type, void* comm, void* stream) {
    return issue("ncclAllGather", comm, {Kind::ALL_GATHER, send, receive, count, type}, stream);
}

NCCL_API int ncclBroadcast(const void* send, void* receive, size_t count, int type, int root, void* comm,
    void* stream) {
    return issue("ncclBroadcast", comm, {Kind::BROADCAST, send, receive, count, type, SUM, root}, stream);
}

NCCL_API int ncclBcast(void* buffer, size_t count, int type, int root, void* comm, void* stream) {
    return ncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}

NCCL_API int ncclSend(const void* send, size_t count, int type, int peer, void* comm, void* stream) {
    return issue("ncclSend", comm, {Kind::SEND, send, nullptr, count, type, SUM, peer}, stream);
}

NCCL_API int ncclRecv(void* receive, size_t count, int type, int peer, void* comm, void* stream) {
    return issue("ncclRecv", comm, {Kind::RECEIVE, nullptr, receive, count, type, SUM, peer}, stream);
}

NCCL_API int ncclGroupStart() {
    return startGroup();
}

NCCL_API int ncclGroupEnd() {
    return endGroup();
}

NCCL_API int ncclRedOpCreatePreMulSum(int* op, void* scalar, int type, int residence, void* handle) {
    Status status = SUCCESS;
    std::shared_ptr<Comm> comm = find(handle, "ncclRedOpCreatePreMulSum", status);
    if (comm == nullptr) {
        return status;
    }
    if (bytesOf(type) == 0 || scalar == nullptr || (residence != ON_DEVICE && residence != ON_HOST)) {
        return refuse(INVALID_ARGUMENT, format("ncclRedOpCreatePreMulSum: type %d, residence %d, scalar at %p", type,
            residence, scalar));
    }
    Factor factor = {true, type, 0, residence == ON_DEVICE ? scalar : nullptr};
    if (residence == ON_HOST) {
        memcpy(&factor.bits, scalar, bytesOf(type));
    }
    std::lock_guard<std::mutex> hold(comm->lock);
    *op = PREMUL_SUM + static_cast<int>(comm->factors.size());
    comm->factors.push_back(factor);
    return SUCCESS;
}

NCCL_API int ncclRedOpDestroy(int op, void* handle) {
    Status status = SUCCESS;
    std::shared_ptr<Comm> comm = find(handle, "ncclRedOpDestroy", status);
    if (comm == nullptr) {
        return status;
    }
    std::lock_guard<std::mutex> hold(comm->lock);
    auto index = static_cast<size_t>(op - PREMUL_SUM);
    if (op < PREMUL_SUM || index >= comm->factors.size() || !comm->factors[index].live) {
        return refuse(INVALID_ARGUMENT, format("ncclRedOpDestroy: operator %d was not made by this communicator, or "
            "was destroyed", op));
    }
    comm->factors[index].live = false;
    return SUCCESS;
}
