#include "nccl_programs.h"

#include <vector>

namespace test {

Environment gpus(const Environment& more) {
    Environment all = {{"ISOBAR_SIM_GPUS", "4"}};
    all.insert(more.begin(), more.end());
    return all;
}

Address numbers() {
    return upload(std::vector<float>(N, 1));
}

void synchronize(const Rank& rank) {
    need(cuStreamSynchronize(rank.stream), "cuStreamSynchronize");
}

int allReduce(const Rank& rank, Address x, size_t count) {
    return ncclAllReduce(place(x), place(x), count, nccl::F32, nccl::SUM, rank.comm, rank.stream);
}

int sendAll(const Rank& rank, void* x) {
    return ncclSend(x, N, nccl::F32, 1 - rank.number, rank.comm, rank.stream);
}

int awaitError(const Rank& rank) {
    int error = 0;
    while (error == 0) {
        check(cuStreamQuery(rank.stream) == NOT_READY, "the stream stands still");
        needNccl(ncclCommGetAsyncError(rank.comm, &error), "ncclCommGetAsyncError");
    }
    return error;
}

}  // namespace test
