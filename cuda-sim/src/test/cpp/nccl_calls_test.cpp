// NCCL calls that are refused, and their messages.
#include "ranks.h"
#include "suite.h"

namespace test {
namespace {

constexpr size_t N = 64;
constexpr size_t BYTES = N * sizeof(float);

const Environment GPUS = {{"ISOBAR_SIM_GPUS", "4"}};

Address numbers() {
    return upload(std::vector<float>(N, 1));
}

void synchronize(const Rank& rank) {
    need(cuStreamSynchronize(rank.stream), "cuStreamSynchronize");
}

int allReduce(const Rank& rank, Address x, size_t count = N) {
    return ncclAllReduce(place(x), place(x), count, nccl::F32, nccl::SUM, rank.comm, rank.stream);
}

void facts() {
    ranks(2, [](Rank& rank) {
        int version = 0;
        int answers[3] = {-1, -1, -1};
        needNccl(ncclGetVersion(&version), "ncclGetVersion");
        needNccl(ncclCommCount(rank.comm, &answers[0]), "ncclCommCount");
        needNccl(ncclCommUserRank(rank.comm, &answers[1]), "ncclCommUserRank");
        needNccl(ncclCommCuDevice(rank.comm, &answers[2]), "ncclCommCuDevice");
        check(version == 22809 && answers[0] == 2 && answers[1] == rank.number && answers[2] == rank.number,
            "what the communicator says of itself");
    });
}

void outOfBounds() {
    ranks(1, [](Rank& rank) { needNccl(allReduce(rank, numbers(), N + 1), "ncclAllReduce"); });
}

void memoryOfTheHost() {
    ranks(1, [](Rank& rank) {
        std::vector<float> x(N, 1);
        needNccl(ncclBcast(x.data(), N, nccl::F32, 0, rank.comm, rank.stream), "ncclBcast");
    });
}

void inPlace(Program program) {
    ranks(2, [=](Rank& rank) {
        Address x = upload(std::vector<float>(2 * N, 1));
        size_t part = static_cast<size_t>(program == RIGHT ? rank.number : 1 - rank.number) * BYTES;
        needNccl(ncclAllGather(place(x, part), place(x), N, nccl::F32, rank.comm, rank.stream), "ncclAllGather");
        needNccl(ncclReduceScatter(place(x), place(x, part), N, nccl::F32, nccl::SUM, rank.comm, rank.stream),
            "ncclReduceScatter");
        synchronize(rank);
    });
}

void scatterInPlace() {
    ranks(1, [](Rank& rank) {
        Address x = upload(std::vector<float>(2 * N, 1));
        needNccl(ncclReduceScatter(place(x), place(x, BYTES / 2), N, nccl::F32, nccl::SUM, rank.comm, rank.stream),
            "ncclReduceScatter");
    });
}

std::function<void()> alone(const std::function<void(Rank&)>& body) {
    return [=] { ranks(1, body); };
}

void wrongRoot(Rank& rank) {
    needNccl(ncclBcast(place(numbers()), N, nccl::F32, 1, rank.comm, rank.stream), "ncclBcast");
}

void noBuffer(Rank& rank) {
    needNccl(ncclAllReduce(nullptr, place(numbers()), N, nccl::F32, nccl::SUM, rank.comm, rank.stream),
        "ncclAllReduce");
}

void afterDestroy(Rank& rank) {
    needNccl(ncclCommDestroy(rank.comm), "ncclCommDestroy");
    needNccl(allReduce(rank, numbers()), "ncclAllReduce");
}

void afterAbort(Rank& rank) {
    needNccl(ncclCommAbort(rank.comm), "ncclCommAbort");
    needNccl(allReduce(rank, numbers()), "ncclAllReduce");
}

void afterFinalize(Rank& rank) {
    needNccl(ncclCommFinalize(rank.comm), "ncclCommFinalize");
    needNccl(allReduce(rank, numbers()), "ncclAllReduce");
}

int half(const Rank& rank) {
    float scalar = 0.5f;
    int op = 0;
    needNccl(ncclRedOpCreatePreMulSum(&op, &scalar, nccl::F32, nccl::ON_HOST, rank.comm), "ncclRedOpCreatePreMulSum");
    return op;
}

void destroyedOperator(Rank& rank) {
    void* x = place(numbers());
    int op = half(rank);
    needNccl(ncclRedOpDestroy(op, rank.comm), "ncclRedOpDestroy");
    needNccl(ncclAllReduce(x, x, N, nccl::F32, op, rank.comm, rank.stream), "ncclAllReduce");
}

void operatorOfAnotherType(Rank& rank) {
    void* x = place(numbers());
    needNccl(ncclAllReduce(x, x, N, nccl::INT32, half(rank), rank.comm, rank.stream), "ncclAllReduce");
}

void groupNotOpen(Rank&) {
    needNccl(ncclGroupEnd(), "ncclGroupEnd");
}

// ncclGroupEnd returns the error of the call in the group, and issues nothing of the group.
void failedCallInAGroup(Rank& rank) {
    Address x = allocate(BYTES);
    needNccl(ncclGroupStart(), "ncclGroupStart");
    needNccl(allReduce(rank, x), "ncclAllReduce");
    check(ncclBcast(place(x), N, nccl::F32, 7, rank.comm, rank.stream) == nccl::INVALID_ARGUMENT, "the call fails");
    int result = ncclGroupEnd();
    synchronize(rank);
    needNccl(result, "ncclGroupEnd");
}

void callsOfAGroupMeet(Rank& rank) {
    Address x = numbers();
    needNccl(ncclGroupStart(), "ncclGroupStart");
    needNccl(allReduce(rank, x), "ncclAllReduce");
    needNccl(allReduce(rank, x + BYTES / 2, N / 2), "ncclAllReduce");
    needNccl(ncclGroupEnd(), "ncclGroupEnd");
}

void sendToItself(Rank& rank) {
    needNccl(ncclSend(place(numbers()), N, nccl::F32, 0, rank.comm, rank.stream), "ncclSend");
}

}  // namespace

void addNcclCalls(Suite& suite) {
    suite.clean("nccl: what a communicator says of itself", facts, GPUS);
    suite.caught("nccl: wrong root", {"broadcast of 64 float32 from rank 1 on rank 0: there is no rank 1"},
        alone(wrongRoot), GPUS);
    suite.caught("nccl: no buffer", {"a buffer is null"}, alone(noBuffer), GPUS);
    suite.caught("nccl: a buffer too small", {"the 260 bytes of the send buffer", "not all in device memory"},
        outOfBounds, GPUS);
    suite.caught("nccl: memory of the host", {"not all in device memory"}, memoryOfTheHost, GPUS);
    suite.planted("nccl: another rank's part in place", {"the buffers overlap and the call is not in place"}, inPlace,
        GPUS);
    suite.caught("nccl: buffers that overlap", {"reduce-scatter of 64", "is not in place"}, scatterInPlace, GPUS);
    suite.caught("nccl: call after destroy", {"ncclAllReduce: the communicator was destroyed or aborted"},
        alone(afterDestroy), GPUS);
    suite.caught("nccl: call after abort", {"ncclAllReduce: the communicator was destroyed or aborted"},
        alone(afterAbort), GPUS);
    suite.caught("nccl: call after finalize", {"ncclAllReduce: the communicator was finalized"}, alone(afterFinalize),
        GPUS);
    suite.caught("nccl: destroyed operator", {"operator 5 was destroyed"}, alone(destroyedOperator), GPUS);
    suite.caught("nccl: operator of another type", {"operator 5 is for float32", "int32"},
        alone(operatorOfAnotherType), GPUS);
    suite.caught("nccl: end of no group", {"ncclGroupEnd: no group is open"}, alone(groupNotOpen), GPUS);
    suite.caught("nccl: failed call in a group", {"ncclGroupEnd: 4", "there is no rank 7"}, alone(failedCallInAGroup),
        GPUS);
    suite.caught("nccl: calls of a group that meet", {"nccl group of 2", "nothing orders the two"},
        alone(callsOfAGroupMeet), GPUS);
    suite.caught("nccl: send to itself", {"rank 0 sends to itself"}, alone(sendToItself), GPUS);
}

}  // namespace test
