// Collectives with missing events, unwritten memory, or arguments that differ between ranks: what is refused, and with
// which message.
#include <unistd.h>

#include "nccl_programs.h"

namespace test {
namespace {

const Environment GPUS = gpus();

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

// After one matching collective, each rank issues a different one.
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
}

}  // namespace test
