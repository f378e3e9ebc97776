// Results of groups, sends and receives, several communicators and graphs of collectives, compared with plain loops.
#include <vector>

#include "nccl_values.h"
#include "suite.h"

namespace test {
namespace {

const Environment GPUS = {{"ISOBAR_SIM_GPUS", "4"}};

// An all-gather of uneven parts, as a group of broadcasts, and a reduce-scatter of them, as a group of reduces.
void unevenParts() {
    ranks(3, [](Rank& rank) {
        constexpr size_t COUNTS[] = {MANY, 7, 0};
        constexpr size_t FIRSTS[] = {0, MANY, MANY + 7};
        constexpr size_t ALL = MANY + 7;
        Values own = values(rank.number, COUNTS[rank.number], FIRSTS[rank.number]);
        Address part = up(nccl::F32, own.empty() ? Values(1, 9) : own);
        Address gathered = poisoned(nccl::F32, ALL);
        Address whole = up(nccl::F32, values(rank.number, ALL));
        Address scattered = poisoned(nccl::F32, ALL);
        needNccl(ncclGroupStart(), "ncclGroupStart");
        for (int root = 0; root < rank.size; ++root) {
            size_t offset = FIRSTS[root] * sizeof(float);
            needNccl(ncclBroadcast(place(part), place(gathered, offset), COUNTS[root], nccl::F32, root, rank.comm,
                rank.stream), "ncclBroadcast");
            needNccl(ncclReduce(place(whole, offset), place(scattered), COUNTS[root], nccl::F32, nccl::SUM, root,
                rank.comm, rank.stream), "ncclReduce");
        }
        needNccl(ncclGroupEnd(), "ncclGroupEnd");
        Values all = down(rank, nccl::F32, gathered, ALL);
        for (int root = 0; root < rank.size; ++root) {
            for (size_t i = FIRSTS[root]; i < FIRSTS[root] + COUNTS[root]; ++i) {
                check(all[i] == value(root, i), "uneven all-gather");
            }
        }
        Values mine = down(rank, nccl::F32, scattered, ALL);
        mine.resize(COUNTS[rank.number]);
        check(mine == reduced(nccl::SUM, nccl::F32, rank.size, mine.size(), FIRSTS[rank.number]),
            "uneven reduce-scatter");
    });
}

// Messages around the ring and back in one group; two messages between the same ranks keep their order.
void sendsInAGroup() {
    ranks(3, [](Rank& rank) {
        int next = (rank.number + 1) % rank.size;
        int last = (rank.number + 2) % rank.size;
        Address x = up(nccl::F32, values(rank.number, MANY));
        Address y = poisoned(nccl::F32, MANY);
        Address small = up(nccl::F32, Values(3, rank.number));
        Address z = poisoned(nccl::F32, 3);
        Address self = poisoned(nccl::F32, 3);
        needNccl(ncclGroupStart(), "ncclGroupStart");
        needNccl(ncclSend(place(x), MANY, nccl::F32, next, rank.comm, rank.stream), "ncclSend");
        needNccl(ncclSend(place(small), 3, nccl::F32, next, rank.comm, rank.stream), "ncclSend");
        needNccl(ncclSend(place(small), 3, nccl::F32, rank.number, rank.comm, rank.stream), "ncclSend");
        needNccl(ncclRecv(place(y), MANY, nccl::F32, last, rank.comm, rank.stream), "ncclRecv");
        needNccl(ncclRecv(place(z), 3, nccl::F32, last, rank.comm, rank.stream), "ncclRecv");
        needNccl(ncclRecv(place(self), 3, nccl::F32, rank.number, rank.comm, rank.stream), "ncclRecv");
        needNccl(ncclGroupEnd(), "ncclGroupEnd");
        check(down(rank, nccl::F32, y, MANY) == values(last, MANY), "what the last rank sent");
        check(down(rank, nccl::F32, z, 3) == Values(3, last), "what it sent after that");
        check(down(rank, nccl::F32, self, 3) == Values(3, rank.number), "what the rank sent to itself");
    });
}

// Outside a group, sends and receives run one after the other.
void sendThenReceive() {
    ranks(2, [](Rank& rank) {
        Address x = up(nccl::F32, values(rank.number, MANY));
        Address y = poisoned(nccl::F32, MANY);
        auto send = [&] {
            needNccl(ncclSend(place(x), MANY, nccl::F32, 1 - rank.number, rank.comm, rank.stream), "ncclSend");
        };
        auto receive = [&] {
            needNccl(ncclRecv(place(y), MANY, nccl::F32, 1 - rank.number, rank.comm, rank.stream), "ncclRecv");
        };
        if (rank.number == 0) {
            send();
            receive();
        } else {
            receive();
            send();
        }
        check(down(rank, nccl::F32, y, MANY) == values(1 - rank.number, MANY), "there and back");
    });
}

// Two communicators, which the ranks wait for in opposite order.
void twoCommunicators() {
    nccl::UniqueId other;
    needNccl(ncclGetUniqueId(&other), "ncclGetUniqueId");
    ranks(2, [&](Rank& rank) {
        void* comm = nullptr;
        void* own = stream();
        needNccl(ncclCommInitRank(&comm, 2, other, 1 - rank.number), "ncclCommInitRank");
        Address x = up(nccl::F32, values(rank.number, MANY));
        Address y = up(nccl::F32, values(rank.number, MANY));
        auto reduce = [](Address z, int op, void* comm, void* stream) {
            needNccl(ncclAllReduce(place(z), place(z), MANY, nccl::F32, op, comm, stream), "ncclAllReduce");
        };
        reduce(x, nccl::SUM, rank.comm, rank.stream);
        reduce(y, nccl::MAX, comm, own);
        need(cuStreamSynchronize(rank.number == 0 ? rank.stream : own), "cuStreamSynchronize");
        need(cuStreamSynchronize(rank.number == 0 ? own : rank.stream), "cuStreamSynchronize");
        check(down(rank, nccl::F32, x, MANY) == reduced(nccl::SUM, nccl::F32, 2, MANY), "the first communicator's");
        check(down(rank, nccl::F32, y, MANY) == reduced(nccl::MAX, nccl::F32, 2, MANY), "the second communicator's");
        needNccl(ncclCommDestroy(comm), "ncclCommDestroy");
    });
}

// Collectives, captured once and launched again and again, with eager ones in between: the
// ranks count their operations as they run.
void replays() {
    ranks(2, [](Rank& rank) {
        void* computes = stream();
        Address x = up(nccl::F32, Values(8, 1));
        auto step = [&] {
            order(computes, rank.stream);
            needNccl(ncclGroupStart(), "ncclGroupStart");
            needNccl(ncclAllReduce(place(x), place(x), 4, nccl::F32, nccl::SUM, rank.comm, rank.stream),
                "ncclAllReduce");
            needNccl(ncclBcast(place(x, 4 * sizeof(float)), 4, nccl::F32, 1, rank.comm, rank.stream), "ncclBcast");
            needNccl(ncclGroupEnd(), "ncclGroupEnd");
            order(rank.stream, computes);
        };
        begin(computes, THREAD_LOCAL);
        step();
        void* graph = ready(end(computes));
        for (int i = 0; i < 3; ++i) {
            need(cuGraphLaunch(graph, computes), "cuGraphLaunch");
            need(cuGraphLaunch(graph, computes), "cuGraphLaunch");
            step();
        }
        need(cuStreamSynchronize(computes), "cuStreamSynchronize");
        need(cuGraphExecDestroy(graph), "cuGraphExecDestroy");
        check(down(rank, nccl::F32, x, 8) == Values({512, 512, 512, 512, 1, 1, 1, 1}), "nine doublings");
    });
}

void aloneInTheWorld() {
    ranks(1, [](Rank& rank) {
        allReduce(rank, nccl::F32, nccl::AVG, 10);
        Address x = up(nccl::F32, values(0, 10));
        needNccl(ncclAllGather(place(x), place(x), 10, nccl::F32, rank.comm, rank.stream), "ncclAllGather");
        check(down(rank, nccl::F32, x, 10) == values(0, 10), "its own numbers");
    });
}

}  // namespace

void addNcclGroups(Suite& suite) {
    suite.clean("nccl: uneven parts in a group", unevenParts, GPUS);
    suite.clean("nccl: sends and receives in a group", sendsInAGroup, GPUS);
    suite.clean("nccl: send, then receive", sendThenReceive, GPUS);
    suite.clean("nccl: two communicators", twoCommunicators, GPUS);
    suite.clean("nccl: graphs", replays, GPUS);
    suite.clean("nccl: one rank", aloneInTheWorld, GPUS);
}

}  // namespace test
