// Collectives between processes that go wrong: what is caught, with which words.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>

#include "ranks.h"
#include "suite.h"

namespace test {
namespace {

constexpr size_t N = 64;
constexpr size_t BYTES = N * sizeof(float);
constexpr int NOT_READY = 600;

const Environment GPUS = {{"ISOBAR_SIM_GPUS", "4"}};

Environment with(const Environment& more) {
    Environment all = GPUS;
    all.insert(more.begin(), more.end());
    return all;
}

const Environment CONNECTED = with({{"NCCL_RUNTIME_CONNECT", "0"}});

Address numbers() {
    return upload(std::vector<float>(N, 1));
}

void synchronize(const Rank& rank) {
    need(cuStreamSynchronize(rank.stream), "cuStreamSynchronize");
}

int allReduce(const Rank& rank, Address x, size_t count = N) {
    return ncclAllReduce(place(x), place(x), count, nccl::F32, nccl::SUM, rank.comm, rank.stream);
}

void sleep(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

// Raised by one process, seen by all.
class Flag {
public:
    Flag() : raised(static_cast<std::atomic<bool>*>(mmap(nullptr, sizeof *raised, PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_ANONYMOUS, -1, 0))) { }

    void raise() { *raised = true; }

    void await() {
        while (!*raised) {
            sleep(1);
        }
    }

private:
    std::atomic<bool>* raised;
};

// ---- streams and memory ----

constexpr const char* KERNEL = R"(
    extern "C" __global__ void add(float* y, const float* x) { y[threadIdx.x] = x[threadIdx.x] + 1; })";

void eventBefore(Program program) {
    ranks(2, [=](Rank& rank) {
        void* add = compile(KERNEL, "add");
        void* computes = stream();
        Address x = numbers();
        need(launch(add, 1, N, 0, computes, x, x), "cuLaunchKernel");
        if (program == RIGHT) {
            order(computes, rank.stream);
        }
        needNccl(allReduce(rank, x), "ncclAllReduce");
        synchronize(rank);
        check(download<float>(x, N)[N - 1] == 4, "the sum of what the kernels wrote");
    });
}

void eventAfter(Program program) {
    ranks(2, [=](Rank& rank) {
        void* add = compile(KERNEL, "add");
        void* computes = stream();
        Address x = numbers();
        needNccl(allReduce(rank, x), "ncclAllReduce");
        if (program == RIGHT) {
            order(rank.stream, computes);
        }
        need(launch(add, 1, N, 0, computes, x, x), "cuLaunchKernel");
        finish();
        check(download<float>(x, N)[N - 1] == 3, "one more than the sum");
    });
}

void unwritten() {
    ranks(2, [](Rank& rank) {
        needNccl(allReduce(rank, allocate(BYTES)), "ncclAllReduce");
        synchronize(rank);
    });
}

// ---- ranks that differ ----

using Issue = std::function<int(const Rank&, void*)>;

// Each rank issues its own after one collective on which they agree.
std::function<void()> differ(const Issue& zero, const Issue& one) {
    return [=] {
        ranks(2, [=](Rank& rank) {
            Address x = upload(std::vector<float>(2 * N, 1));
            needNccl(allReduce(rank, x), "ncclAllReduce");
            needNccl((rank.number == 0 ? zero : one)(rank, place(x)), "the collective");
            int result = cuStreamSynchronize(rank.stream);
            int error = 0;
            needNccl(ncclCommGetAsyncError(rank.comm, &error), "ncclCommGetAsyncError");
            check(error == nccl::INVALID_USAGE, "the communicator has the error");
            need(result, "cuStreamSynchronize");
        });
    };
}

Issue reduceOf(size_t count, int type, int op) {
    return [=](const Rank& rank, void* x) { return ncclAllReduce(x, x, count, type, op, rank.comm, rank.stream); };
}

Issue broadcastFrom(int root) {
    return [=](const Rank& rank, void* x) { return ncclBcast(x, N, nccl::F32, root, rank.comm, rank.stream); };
}

int sendAll(const Rank& rank, void* x) {
    return ncclSend(x, N, nccl::F32, 1 - rank.number, rank.comm, rank.stream);
}

int receiveHalf(const Rank& rank, void* x) {
    return ncclRecv(x, N / 2, nccl::F32, 1 - rank.number, rank.comm, rank.stream);
}

void addDifferences(Suite& suite) {
    Issue sum = reduceOf(N, nccl::F32, nccl::SUM);
    suite.caught("nccl: different counts", {"rank 0 has issued operation 2, all-reduce of 64 float32 sum; "
        "rank 1 all-reduce of 32 float32 sum"}, differ(sum, reduceOf(32, nccl::F32, nccl::SUM)), GPUS);
    suite.caught("nccl: different types", {"all-reduce of 64 float32 sum; rank 1 all-reduce of 64 int32 sum"},
        differ(sum, reduceOf(N, nccl::INT32, nccl::SUM)), GPUS);
    suite.caught("nccl: different operators", {"all-reduce of 64 float32 sum; rank 1 all-reduce of 64 float32 "
        "maximum"}, differ(sum, reduceOf(N, nccl::F32, nccl::MAX)), GPUS);
    suite.caught("nccl: different collectives", {"all-reduce of 64 float32 sum; rank 1 broadcast of 64 float32 from "
        "rank 0"}, differ(sum, broadcastFrom(0)), GPUS);
    suite.caught("nccl: different roots", {"broadcast of 64 float32 from rank 0; rank 1 broadcast of 64 float32 from "
        "rank 1"}, differ(broadcastFrom(0), broadcastFrom(1)), GPUS);
}

// Looks at the stream, which stands still, until the communicator has an error.
int awaitError(const Rank& rank) {
    int error = 0;
    while (error == 0) {
        check(cuStreamQuery(rank.stream) == NOT_READY, "the stream stands still");
        needNccl(ncclCommGetAsyncError(rank.comm, &error), "ncclCommGetAsyncError");
    }
    return error;
}

void unequalSend() {
    ranks(2, [](Rank& rank) {
        void* x = place(numbers());
        needNccl(rank.number == 0 ? sendAll(rank, x) : receiveHalf(rank, x), "the call");
        if (rank.number == 1) {
            synchronize(rank);
        }
        awaitError(rank);
        needNccl(ncclCommAbort(rank.comm), "ncclCommAbort");
        _exit(0);
    });
}

// ---- ranks that do not come, or go ----

void sharedGpu() {
    processes(2, [](Rank& rank) {
        connect(rank, 0);
        Address x = numbers();
        needNccl(allReduce(rank, x), "ncclAllReduce");
        synchronize(rank);
        check(download<float>(x, N)[0] == 2, "the sum of the two");
        needNccl(ncclCommDestroy(rank.comm), "ncclCommDestroy");
    });
}

void absentRank() {
    processes(1, [](Rank& rank) {
        rank.size = 3;
        connect(rank, 0);
    });
}

void sameRankTwice() {
    processes(2, [](Rank& rank) {
        int device = rank.number;
        rank.number = 0;
        connect(rank, device);
    });
}

void foreignId() {
    processes(1, [](Rank& rank) {
        memset(&rank.id, 0, sizeof rank.id);
        connect(rank, 0);
    });
}

void withoutContext() {
    processes(1, [](Rank& rank) {
        need(cuInit(0), "cuInit");
        needNccl(ncclCommInitRank(&rank.comm, 1, rank.id, 0), "ncclCommInitRank");
    });
}

// Rank 1 never comes to the collective. Another thread of rank 0 aborts, which ends the wait of the first.
void abortEndsAWait() {
    Flag done;
    ranks(2, [&](Rank& rank) {
        if (rank.number == 0) {
            needNccl(allReduce(rank, numbers()), "ncclAllReduce");
            check(cuStreamQuery(rank.stream) == NOT_READY, "rank 1 is not there");
            std::thread aborter([&] {
                sleep(100);
                needNccl(ncclCommAbort(rank.comm), "ncclCommAbort");
            });
            synchronize(rank);
            aborter.join();
            done.raise();
        } else {
            done.await();
            needNccl(ncclCommAbort(rank.comm), "ncclCommAbort");
        }
        _exit(0);
    });
}

// Rank 1 never comes to the collective, which is the first: rank 0 is kept in the call.
void abortWhileConnecting() {
    Flag done;
    ranks(2, [&](Rank& rank) {
        if (rank.number == 1) {
            done.await();
            _exit(0);
        }
        std::thread aborter([&] {
            sleep(100);
            needNccl(ncclCommAbort(rank.comm), "ncclCommAbort");
        });
        int result = allReduce(rank, numbers());
        aborter.join();
        done.raise();
        needNccl(result, "ncclAllReduce");
    });
}

// A communicator lives until no graph can use it any more.
void abortWaitsForGraphs() {
    ranks(2, [](Rank& rank) {
        std::atomic<bool> aborted = false;
        Address x = numbers();
        begin(rank.stream);
        needNccl(allReduce(rank, x), "ncclAllReduce");
        void* graph = ready(end(rank.stream));
        void* context = nullptr;
        need(cuCtxGetCurrent(&context), "cuCtxGetCurrent");
        std::thread aborter([&] {
            need(cuCtxSetCurrent(context), "cuCtxSetCurrent");
            needNccl(ncclCommAbort(rank.comm), "ncclCommAbort");
            aborted = true;
        });
        sleep(200);
        check(!aborted, "the graph is still there");
        need(cuGraphExecDestroy(graph), "cuGraphExecDestroy");
        aborter.join();
        _exit(0);
    });
}

// A send that nobody receives blocks its stream, and no other.
void unmatchedSend() {
    Flag done;
    ranks(2, [&](Rank& rank) {
        void* other = stream();
        Address x = numbers();
        if (rank.number == 0) {
            needNccl(sendAll(rank, place(x)), "ncclSend");
            for (int i = 0; i < 100; ++i) {
                check(cuStreamQuery(rank.stream) == NOT_READY, "nobody has received it");
            }
            need(cuMemsetD32Async(allocate(BYTES), 0, N, other), "cuMemsetD32Async");
            need(cuStreamSynchronize(other), "cuStreamSynchronize");
            done.raise();
        }
        done.await();
        needNccl(ncclCommAbort(rank.comm), "ncclCommAbort");
        _exit(0);
    });
}

// The error comes through the communicator; the stream stands still until somebody aborts.
void deadPeer() {
    ranks(2, [](Rank& rank) {
        if (rank.number == 1) {
            _exit(0);
        }
        needNccl(allReduce(rank, numbers()), "ncclAllReduce");
        int error = awaitError(rank);
        check(error == nccl::REMOTE_ERROR, "a remote error");
        check(cuStreamQuery(rank.stream) == NOT_READY, "the stream still stands");
        needNccl(ncclCommAbort(rank.comm), "ncclCommAbort");
        synchronize(rank);
        needNccl(error, "ncclCommGetAsyncError");
    });
}

// Once all are there the memory has no name.
void nothingIsLeft() {
    ranks(2, [](Rank& rank) {
        std::string path = "/dev/shm/isobar-nccl-";
        constexpr size_t MARK = sizeof "isobar simulated nccl";
        char digits[3];
        for (size_t i = MARK; i < MARK + 16; ++i) {
            snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(rank.id.bytes[i]));
            path += digits;
        }
        check(access(path.c_str(), F_OK) != 0, "no file is left");
        synchronize(rank);
    });
}

}  // namespace

void addNccl(Suite& suite) {
    suite.planted("nccl: missing event before a collective", {"missing event between stream",
        "operation nccl all-reduce of 64 float32 sum", "operation add"}, eventBefore, GPUS);
    suite.planted("nccl: missing event after a collective", {"kernel add", "missing event between stream",
        "operation nccl all-reduce of 64 float32 sum"}, eventAfter, GPUS);
    suite.caught("nccl: unwritten memory", {"nccl all-reduce", "which nothing wrote"}, unwritten, GPUS);
    addDifferences(suite);
    suite.caught("nccl: send and receive of different counts", {"a send and its receive differ: rank 0 has issued "
        "send of 64 float32 to rank 1; rank 1 receive of 32 float32 from rank 0"}, unequalSend, GPUS);
    suite.caught("nccl: two ranks on one GPU", {"Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1000"},
        sharedGpu, GPUS);
    suite.caught("nccl: two ranks on one GPU, not enabled", {"Duplicate GPU detected"}, sharedGpu,
        with({{"ISOBAR_SIM_NCCL", "23003"}}));
    suite.clean("nccl: two ranks on one GPU, enabled", sharedGpu,
        with({{"ISOBAR_SIM_NCCL", "23003"}, {"NCCL_MULTI_RANK_GPU_ENABLE", "1"}}));
    suite.caught("nccl: ranks that do not come", {"rank 0 of 3 has waited 0.5 s for rank 1, 2"}, absentRank,
        with({{"ISOBAR_SIM_NCCL_TIMEOUT", "0.5"}}));
    suite.caught("nccl: one rank twice", {"are both rank 0"}, sameRankTwice, with({{"ISOBAR_SIM_NCCL_TIMEOUT", "1"}}));
    suite.caught("nccl: an id from elsewhere", {"does not come from ncclGetUniqueId"}, foreignId, GPUS);
    suite.caught("nccl: no context on the thread", {"ncclCommInitRank: no context is current"}, withoutContext, GPUS);
    suite.clean("nccl: abort ends a wait", abortEndsAWait, CONNECTED);
    suite.caught("nccl: abort while ranks connect", {"rank 0: aborted while it connects with the others"},
        abortWhileConnecting, GPUS);
    suite.clean("nccl: abort waits for graphs", abortWaitsForGraphs, GPUS);
    suite.clean("nccl: a send that nobody receives blocks its stream", unmatchedSend, GPUS);
    suite.caught("nccl: a rank that has ended", {"rank 1, has ended while rank 0 waits for it",
        "remote process exited"}, deadPeer, CONNECTED);
    suite.clean("nccl: nothing is left", nothingIsLeft, GPUS);
}

}  // namespace test
