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

}  // namespace

void addNcclResults(Suite& suite) {
    suite.clean("nccl: all-reduce", allReduces, GPUS);
}

}  // namespace test
