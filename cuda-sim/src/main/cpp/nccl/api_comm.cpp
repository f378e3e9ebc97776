// NCCL's functions on communicators.
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "comm.h"
#include "group.h"
#include "sim.h"
#include "status.h"

using namespace nccl;

extern "C" int cuCtxGetDevice(int* device);

namespace {

constexpr int VERSION = 22809;
constexpr int FIRST_TO_SHARE = 23000;

int version() {
    const char* claimed = getenv("ISOBAR_SIM_NCCL");
    return claimed != nullptr && *claimed != 0 ? atoi(claimed) : VERSION;
}

bool mayShare() {
    const char* enabled = getenv("NCCL_MULTI_RANK_GPU_ENABLE");
    return version() >= FIRST_TO_SHARE && enabled != nullptr && strcmp(enabled, "1") == 0;
}

// The bus number is printed as NCCL does it.
Status checkDevices(const Segment& segment, int size) {
    for (int first = 0; first < size; ++first) {
        for (int second = first + 1; second < size; ++second) {
            if (segment.sameGpu(first, second) && !mayShare()) {
                return refuse(INVALID_USAGE, format("Duplicate GPU detected : rank %d and rank %d both on CUDA device "
                    "%x", first, second, (segment.gpu(first) + 1) << 12));
            }
        }
    }
    return SUCCESS;
}

Status init(void** handle, int size, const UniqueId& id, int rank) {
    if (handle == nullptr || size < 1 || size > MOST_RANKS || rank < 0 || rank >= size) {
        return refuse(INVALID_ARGUMENT, format("ncclCommInitRank: rank %d of %d; up to %d ranks are simulated", rank,
            size, MOST_RANKS));
    }
    if (inGroup()) {
        return refuse(INVALID_USAGE, "ncclCommInitRank in a group is not simulated");
    }
    int device = 0;
    if (cuCtxGetDevice(&device) != 0) {
        return refuse(UNHANDLED_CUDA_ERROR, "ncclCommInitRank: no context is current on this thread; NCCL would take "
            "device 0, whatever was meant");
    }
    Status status = SUCCESS;
    std::unique_ptr<Segment> segment = Segment::attach(id, size, rank, sim_device_ordinal(device), status);
    status = status == SUCCESS ? checkDevices(*segment, size) : status;
    if (status != SUCCESS) {
        return status;
    }
    auto comm = std::make_shared<Comm>();
    comm->size = size;
    comm->rank = rank;
    comm->device = device;
    comm->segment = std::move(segment);
    *handle = keep(comm);
    return SUCCESS;
}

// Runs what has been issued, of all streams: the communicator does not know which operations wait for its own.
Status flush(const Comm& comm) {
    if (comm.pending == 0) {
        return SUCCESS;
    }
    int error = sim_synchronize();
    return error == 0 ? SUCCESS : refuse(UNHANDLED_CUDA_ERROR, format("nccl: error %d of the driver", error));
}

// NCCL frees a communicator when all that was issued has ended, and all graphs in which it was captured are gone. A
// device that has failed is not waited for; it is polled rarely, because the background thread works meanwhile.
void awaitEnd(const Comm& comm) {
    int device = 0;
    for (int look = 1; comm.pending != 0; ++look) {
        if (look % 100 == 0 && cuCtxGetDevice(&device) != 0) {
            return;
        }
        usleep(1000);
    }
}

// The result of a query of a communicator.
template <typename Field>
int ask(void* handle, const char* call, int* answer, Field field) {
    Status status = SUCCESS;
    std::shared_ptr<Comm> comm = find(handle, call, status);
    if (comm != nullptr) {
        *answer = field(*comm);
    }
    return status;
}

}  // namespace

NCCL_API int ncclGetVersion(int* answer) {
    *answer = version();
    return SUCCESS;
}

NCCL_API int ncclGetUniqueId(UniqueId* id) {
    return newId(*id) ? SUCCESS : refuse(SYSTEM_ERROR, "ncclGetUniqueId: the machine gives no random numbers");
}

NCCL_API int ncclCommInitRank(void** handle, int size, UniqueId id, int rank) {
    return init(handle, size, id, rank);
}

NCCL_API int ncclCommFinalize(void* handle) {
    Status status = SUCCESS;
    std::shared_ptr<Comm> comm = find(handle, "ncclCommFinalize", status);
    if (comm == nullptr) {
        return status;
    }
    State live = State::LIVE;
    if (!comm->state.compare_exchange_strong(live, State::FINALIZED)) {
        return refuse(INVALID_ARGUMENT, "ncclCommFinalize: the communicator was finalized before");
    }
    return flush(*comm);
}

NCCL_API int ncclCommDestroy(void* handle) {
    if (handle == nullptr) {
        return SUCCESS;
    }
    Status status = SUCCESS;
    std::shared_ptr<Comm> comm = find(handle, "ncclCommDestroy", status);
    if (comm == nullptr) {
        return status;
    }
    flush(*comm);
    awaitEnd(*comm);
    comm->state = State::DESTROYED;
    forget(handle);
    return SUCCESS;
}

NCCL_API int ncclCommAbort(void* handle) {
    if (handle == nullptr) {
        return SUCCESS;
    }
    Status status = SUCCESS;
    std::shared_ptr<Comm> comm = find(handle, "ncclCommAbort", status);
    if (comm != nullptr) {
        comm->state = State::ABORTED;
        forget(handle);
        awaitEnd(*comm);
    }
    return status;
}

NCCL_API int ncclCommGetAsyncError(void* handle, int* error) {
    return ask(handle, "ncclCommGetAsyncError", error, [](const Comm& comm) { return comm.error.load(); });
}

NCCL_API int ncclCommCount(void* handle, int* count) {
    return ask(handle, "ncclCommCount", count, [](const Comm& comm) { return comm.size; });
}

NCCL_API int ncclCommCuDevice(void* handle, int* device) {
    return ask(handle, "ncclCommCuDevice", device, [](const Comm& comm) { return comm.device; });
}

NCCL_API int ncclCommUserRank(void* handle, int* rank) {
    return ask(handle, "ncclCommUserRank", rank, [](const Comm& comm) { return comm.rank; });
}
