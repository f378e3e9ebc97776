// What collectives between processes give, against plain loops.
#include <cmath>
#include <vector>

#include "ranks.h"
#include "suite.h"

namespace test {
namespace {

const Environment GPUS = {{"ISOBAR_SIM_GPUS", "4"}};
constexpr size_t MANY = 200003;  // several pieces, the last one short
constexpr int TYPES[] = {nccl::INT8, nccl::UINT8, nccl::INT32, nccl::UINT32, nccl::INT64, nccl::UINT64, nccl::F16,
    nccl::F32, nccl::F64, nccl::BF16};

using Values = std::vector<double>;

// Small whole numbers: sums and products of four are exact in all types.
double value(int rank, size_t i) {
    return static_cast<double>((7 * i + 3 * static_cast<size_t>(rank)) % 3 + 1);
}

Values values(int rank, size_t count, size_t first = 0) {
    Values result(count);
    for (size_t i = 0; i < count; ++i) {
        result[i] = value(rank, first + i);
    }
    return result;
}

double reducedAt(int op, int type, int size, size_t i) {
    double result = value(0, i);
    for (int rank = 1; rank < size; ++rank) {
        double x = value(rank, i);
        result = op == nccl::PROD ? result * x : op == nccl::MAX ? std::fmax(result, x)
            : op == nccl::MIN ? std::fmin(result, x) : result + x;
    }
    bool whole = type < nccl::F16;
    return op != nccl::AVG ? result : whole ? std::floor(result / size) : result / size;
}

Values reduced(int op, int type, int size, size_t count, size_t first = 0) {
    Values result(count);
    for (size_t i = 0; i < count; ++i) {
        result[i] = reducedAt(op, type, size, first + i);
    }
    return result;
}

Address up(int type, const Values& values) {
    return upload(encode(type, values));
}

Values down(const Rank& rank, int type, Address address, size_t count) {
    need(cuStreamSynchronize(rank.stream), "cuStreamSynchronize");
    return decode(type, download<char>(address, count * nccl::bytesOf(type)));
}

void allReduce(Rank& rank, int type, int op, size_t count) {
    Address x = up(type, values(rank.number, count));
    Address y = allocate(count * nccl::bytesOf(type));
    needNccl(ncclAllReduce(place(x), place(y), count, type, op, rank.comm, rank.stream), "ncclAllReduce");
    needNccl(ncclAllReduce(place(x), place(x), count, type, op, rank.comm, rank.stream), "ncclAllReduce");
    Values expected = reduced(op, type, rank.size, count);
    check(down(rank, type, y, count) == expected, "all-reduce");
    check(down(rank, type, x, count) == expected, "all-reduce in place");
}

void allReduces() {
    ranks(4, [](Rank& rank) {
        for (int type : TYPES) {
            for (int op : {nccl::SUM, nccl::PROD, nccl::MAX, nccl::MIN, nccl::AVG}) {
                allReduce(rank, type, op, 101);
            }
        }
        allReduce(rank, nccl::F32, nccl::SUM, MANY);
        allReduce(rank, nccl::BF16, nccl::AVG, MANY);
        allReduce(rank, nccl::F64, nccl::SUM, 1);
    });
}

// A small result is summed in single precision and rounded once: 256 + 1 + 1 is 258, not 256.
void roundsOnce() {
    ranks(3, [](Rank& rank) {
        Address x = up(nccl::BF16, Values(4, rank.number == 0 ? 256 : 1));
        needNccl(ncclAllReduce(place(x), place(x), 4, nccl::BF16, nccl::SUM, rank.comm, rank.stream), "ncclAllReduce");
        check(down(rank, nccl::BF16, x, 4) == Values(4, 258), "the sum is rounded at its end");
    });
}

Address poisoned(int type, size_t count) {
    return up(type, Values(count, 9));
}

void reduces() {
    ranks(3, [](Rank& rank) {
        for (size_t count : {size_t{77}, MANY}) {
            for (int root = 0; root < rank.size; ++root) {
                Address x = up(nccl::F32, values(rank.number, count));
                Address y = poisoned(nccl::F32, count);
                needNccl(ncclReduce(place(x), place(y), count, nccl::F32, nccl::SUM, root, rank.comm, rank.stream),
                    "ncclReduce");
                Values expected = rank.number == root ? reduced(nccl::SUM, nccl::F32, rank.size, count)
                    : Values(count, 9);
                check(down(rank, nccl::F32, y, count) == expected, "reduce, for the root alone");
            }
        }
    });
}

void broadcasts() {
    ranks(3, [](Rank& rank) {
        for (size_t count : {size_t{77}, MANY}) {
            for (int root = 0; root < rank.size; ++root) {
                Address x = up(nccl::F16, values(rank.number, count));
                Address y = poisoned(nccl::F16, count);
                needNccl(ncclBroadcast(place(x), place(y), count, nccl::F16, root, rank.comm, rank.stream),
                    "ncclBroadcast");
                needNccl(ncclBcast(place(x), count, nccl::F16, root, rank.comm, rank.stream), "ncclBcast");
                check(down(rank, nccl::F16, y, count) == values(root, count), "broadcast");
                check(down(rank, nccl::F16, x, count) == values(root, count), "broadcast in place");
            }
        }
    });
}

void allGathers() {
    ranks(3, [](Rank& rank) {
        for (int type : {nccl::UINT8, nccl::F32}) {
            for (size_t count : {size_t{5}, MANY}) {
                Values own = values(rank.number, count);
                Address x = up(type, own);
                Address y = poisoned(type, 3 * count);
                Values expected;
                for (int other = 0; other < rank.size; ++other) {
                    Values part = values(other, count);
                    expected.insert(expected.end(), part.begin(), part.end());
                }
                needNccl(ncclAllGather(place(x), place(y), count, type, rank.comm, rank.stream), "ncclAllGather");
                check(down(rank, type, y, 3 * count) == expected, "all-gather");
                size_t part = static_cast<size_t>(rank.number) * count * nccl::bytesOf(type);
                Address z = poisoned(type, 3 * count);
                std::vector<char> bytes = encode(type, own);
                need(cuMemcpyHtoD_v2(z + part, bytes.data(), bytes.size()), "cuMemcpyHtoD");
                needNccl(ncclAllGather(place(z, part), place(z), count, type, rank.comm, rank.stream), "ncclAllGather");
                check(down(rank, type, z, 3 * count) == expected, "all-gather in place");
            }
        }
    });
}

void reduceScatters() {
    ranks(3, [](Rank& rank) {
        for (int type : {nccl::BF16, nccl::F64}) {
            for (size_t count : {size_t{5}, MANY}) {
                Values all = values(rank.number, 3 * count);
                size_t first = static_cast<size_t>(rank.number) * count;
                Values expected = reduced(nccl::SUM, type, rank.size, count, first);
                Address x = up(type, all);
                Address y = poisoned(type, count);
                needNccl(ncclReduceScatter(place(x), place(y), count, type, nccl::SUM, rank.comm, rank.stream),
                    "ncclReduceScatter");
                check(down(rank, type, y, count) == expected, "reduce-scatter");
                Address part = x + first * nccl::bytesOf(type);
                needNccl(ncclReduceScatter(place(x), place(part), count, type, nccl::SUM, rank.comm, rank.stream),
                    "ncclReduceScatter");
                check(down(rank, type, part, count) == expected, "reduce-scatter in place");
            }
        }
    });
}

// Each rank's numbers are multiplied by its own factor, wherever that lies; it may be destroyed after the call.
void factors() {
    ranks(2, [](Rank& rank) {
        constexpr size_t COUNT = 33;
        constexpr double FACTORS[] = {0.5, 4};
        for (int type : {nccl::F16, nccl::BF16, nccl::F32, nccl::F64, nccl::INT32}) {
            double own = type == nccl::INT32 ? 2 : FACTORS[rank.number];
            std::vector<char> scalar = encode(type, {own});
            Address onDevice = upload(scalar);
            Values expected(COUNT);
            for (size_t i = 0; i < COUNT; ++i) {
                expected[i] = type == nccl::INT32 ? 2 * (value(0, i) + value(1, i))
                    : FACTORS[0] * value(0, i) + FACTORS[1] * value(1, i);
            }
            for (int residence : {nccl::ON_HOST, nccl::ON_DEVICE}) {
                Address x = up(type, values(rank.number, COUNT));
                void* where = residence == nccl::ON_HOST ? scalar.data() : place(onDevice);
                int op = 0;
                needNccl(ncclRedOpCreatePreMulSum(&op, where, type, residence, rank.comm), "ncclRedOpCreatePreMulSum");
                needNccl(ncclAllReduce(place(x), place(x), COUNT, type, op, rank.comm, rank.stream), "ncclAllReduce");
                needNccl(ncclRedOpDestroy(op, rank.comm), "ncclRedOpDestroy");
                check(down(rank, type, x, COUNT) == expected, "sum with factors");
            }
        }
    });
}

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

// Around the ring and back, all at once; and two messages on the same way keep their order.
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

// Outside a group they go one after the other.
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

void addNcclResults(Suite& suite) {
    suite.clean("nccl: all-reduce", allReduces, GPUS);
    suite.clean("nccl: narrow sums are rounded once", roundsOnce, GPUS);
    suite.clean("nccl: reduce", reduces, GPUS);
    suite.clean("nccl: broadcast", broadcasts, GPUS);
    suite.clean("nccl: all-gather", allGathers, GPUS);
    suite.clean("nccl: reduce-scatter", reduceScatters, GPUS);
    suite.clean("nccl: sums with factors", factors, GPUS);
    suite.clean("nccl: uneven parts in a group", unevenParts, GPUS);
    suite.clean("nccl: sends and receives in a group", sendsInAGroup, GPUS);
    suite.clean("nccl: send, then receive", sendThenReceive, GPUS);
    suite.clean("nccl: two communicators", twoCommunicators, GPUS);
    suite.clean("nccl: graphs", replays, GPUS);
    suite.clean("nccl: one rank", aloneInTheWorld, GPUS);
}

}  // namespace test
