// Ranks that do not connect, end early or abort: which calls are refused, and which work continues.
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "nccl_programs.h"

namespace test {
namespace {

const Environment GPUS = gpus();
const Environment CONNECTED = gpus({{"NCCL_RUNTIME_CONNECT", "0"}});

void sleep(int milliseconds) {
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

// A flag shared by all processes.
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

void sumOnOneGpu(Rank& rank) {
    connect(rank, 0);
    Address x = numbers();
    needNccl(allReduce(rank, x), "ncclAllReduce");
    synchronize(rank);
    check(download<float>(x, N)[0] == 2, "the sum of the two");
    needNccl(ncclCommDestroy(rank.comm), "ncclCommDestroy");
}

void sharedGpu() {
    processes(2, sumOnOneGpu);
}

void sharedGpuOfTwoHosts() {
    processes(2, [](Rank& rank) {
        setenv("NCCL_HOSTID", std::to_string(rank.number).c_str(), 1);
        sumOnOneGpu(rank);
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

// Rank 1 never calls the collective. Another thread of rank 0 aborts, which ends the wait of the first thread.
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

// Rank 1 never calls the collective, which is the first, so rank 0 is blocked in the call.
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

// An abort waits until no graph can use the communicator.
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

// A send without a receive blocks its stream, and no other.
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

// The communicator reports the error; the stream is blocked until the abort.
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

// The shared memory is unlinked once all ranks have opened it.
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

void addNcclFailures(Suite& suite) {
    suite.caught("nccl: two ranks on one GPU", {"Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 1000"},
        sharedGpu, GPUS);
    suite.caught("nccl: two ranks on one GPU, not enabled", {"Duplicate GPU detected"}, sharedGpu,
        gpus({{"ISOBAR_SIM_NCCL", "23003"}}));
    suite.clean("nccl: two ranks on one GPU, enabled", sharedGpu,
        gpus({{"ISOBAR_SIM_NCCL", "23003"}, {"NCCL_MULTI_RANK_GPU_ENABLE", "1"}}));
    suite.clean("nccl: two ranks on one GPU, as of two hosts", sharedGpuOfTwoHosts, GPUS);
    suite.caught("nccl: ranks that do not come", {"rank 0 of 3 has waited 0.5 s for rank 1, 2"}, absentRank,
        gpus({{"ISOBAR_SIM_NCCL_TIMEOUT", "0.5"}}));
    suite.caught("nccl: one rank twice", {"are both rank 0"}, sameRankTwice, gpus({{"ISOBAR_SIM_NCCL_TIMEOUT", "1"}}));
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
