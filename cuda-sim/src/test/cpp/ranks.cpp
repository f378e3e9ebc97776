#include "ranks.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "blas/numbers.h"

namespace test {
namespace {

constexpr unsigned MOST_SECONDS = 60;

[[noreturn]] void runRank(Rank rank, const std::function<void(Rank&)>& body) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(MOST_SECONDS);
    body(rank);
    fflush(nullptr);
    _exit(0);
}

// The status of one child that has ended: its exit code, or 1 for a signal.
int codeOf(int status) {
    if (WIFSIGNALED(status)) {
        fprintf(stderr, "a rank ended by signal %d\n", WTERMSIG(status));
        return 1;
    }
    return WEXITSTATUS(status);
}

template <typename N>
std::vector<char> copied(const std::vector<double>& values, N (*narrow)(double)) {
    std::vector<N> numbers(values.size());
    std::transform(values.begin(), values.end(), numbers.begin(), narrow);
    std::vector<char> bytes(numbers.size() * sizeof(N));
    memcpy(bytes.data(), numbers.data(), bytes.size());
    return bytes;
}

template <typename N>
std::vector<double> widened(const std::vector<char>& bytes, double (*widen)(N)) {
    std::vector<N> numbers(bytes.size() / sizeof(N));
    memcpy(numbers.data(), bytes.data(), bytes.size());
    std::vector<double> values(numbers.size());
    std::transform(numbers.begin(), numbers.end(), values.begin(), widen);
    return values;
}

template <typename N>
std::vector<char> plain(const std::vector<double>& values) {
    return copied<N>(values, [](double x) { return static_cast<N>(x); });
}

template <typename N>
std::vector<double> plain(const std::vector<char>& bytes) {
    return widened<N>(bytes, [](N x) { return static_cast<double>(x); });
}

}  // namespace

void needNccl(int result, const char* call) {
    if (result != 0) {
        fprintf(stderr, "%s: %d %s: %s\n", call, result, ncclGetErrorString(result), ncclGetLastError(nullptr));
        exit(REFUSED);
    }
}

void processes(int size, const std::function<void(Rank&)>& body) {
    Rank rank = {0, size, {}};
    needNccl(ncclGetUniqueId(&rank.id), "ncclGetUniqueId");
    fflush(nullptr);
    std::vector<pid_t> children;
    for (rank.number = 0; rank.number < size; ++rank.number) {
        children.push_back(fork());
        if (children.back() == 0) {
            runRank(rank, body);
        }
    }
    int code = 0;
    for (pid_t child : children) {
        int status = 0;
        waitpid(child, &status, 0);
        code = code == 0 ? codeOf(status) : code;
    }
    if (code != 0) {
        exit(code);
    }
}

void connect(Rank& rank, int device) {
    start(device);
    rank.stream = stream();
    needNccl(ncclCommInitRank(&rank.comm, rank.size, rank.id, rank.number), "ncclCommInitRank");
}

void ranks(int size, const std::function<void(Rank&)>& body) {
    processes(size, [&](Rank& rank) {
        connect(rank, rank.number);
        body(rank);
        needNccl(ncclCommDestroy(rank.comm), "ncclCommDestroy");
    });
}

std::vector<char> encode(int type, const std::vector<double>& values) {
    switch (type) {
        case nccl::INT8: return plain<int8_t>(values);
        case nccl::UINT8: return plain<uint8_t>(values);
        case nccl::INT32: return plain<int32_t>(values);
        case nccl::UINT32: return plain<uint32_t>(values);
        case nccl::INT64: return plain<int64_t>(values);
        case nccl::UINT64: return plain<uint64_t>(values);
        case nccl::F32: return plain<float>(values);
        case nccl::F64: return plain<double>(values);
        case nccl::F16:
            return copied<uint16_t>(values, [](double x) { return blas::toHalf(static_cast<float>(x)); });
        default:
            return copied<uint16_t>(values, [](double x) { return blas::toBf16(static_cast<float>(x)); });
    }
}

std::vector<double> decode(int type, const std::vector<char>& bytes) {
    switch (type) {
        case nccl::INT8: return plain<int8_t>(bytes);
        case nccl::UINT8: return plain<uint8_t>(bytes);
        case nccl::INT32: return plain<int32_t>(bytes);
        case nccl::UINT32: return plain<uint32_t>(bytes);
        case nccl::INT64: return plain<int64_t>(bytes);
        case nccl::UINT64: return plain<uint64_t>(bytes);
        case nccl::F32: return plain<float>(bytes);
        case nccl::F64: return plain<double>(bytes);
        case nccl::F16:
            return widened<uint16_t>(bytes, [](uint16_t x) { return static_cast<double>(sim::fromHalf(x)); });
        default:
            return widened<uint16_t>(bytes, [](uint16_t x) { return static_cast<double>(sim::fromBf16(x)); });
    }
}

void* place(Address address, size_t offset) {
    return reinterpret_cast<void*>(address + offset);
}

}  // namespace test
