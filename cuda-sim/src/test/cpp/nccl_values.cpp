#include "nccl_values.h"

#include <cmath>

namespace test {

double value(int rank, size_t i) {
    return static_cast<double>((7 * i + 3 * static_cast<size_t>(rank)) % 3 + 1);
}

Values values(int rank, size_t count, size_t first) {
    Values result(count);
    for (size_t i = 0; i < count; ++i) {
        result[i] = value(rank, first + i);
    }
    return result;
}

namespace {

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

}  // namespace

Values reduced(int op, int type, int size, size_t count, size_t first) {
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

Address poisoned(int type, size_t count) {
    return up(type, Values(count, 9));
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

}  // namespace test
