// Results of single collectives between processes, compared with plain loops.
#include <vector>

#include "nccl_values.h"
#include "suite.h"

namespace test {
namespace {

const Environment GPUS = {{"ISOBAR_SIM_GPUS", "4"}};
constexpr int TYPES[] = {nccl::INT8, nccl::UINT8, nccl::INT32, nccl::UINT32, nccl::INT64, nccl::UINT64, nccl::F16,
    nccl::F32, nccl::F64, nccl::BF16};

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

}  // namespace

void addNcclResults(Suite& suite) {
    suite.clean("nccl: all-reduce", allReduces, GPUS);
    suite.clean("nccl: narrow sums are rounded once", roundsOnce, GPUS);
    suite.clean("nccl: reduce", reduces, GPUS);
    suite.clean("nccl: broadcast", broadcasts, GPUS);
    suite.clean("nccl: all-gather", allGathers, GPUS);
    suite.clean("nccl: reduce-scatter", reduceScatters, GPUS);
    suite.clean("nccl: sums with factors", factors, GPUS);
}

}  // namespace test
