#include "segment.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "status.h"

namespace nccl {
namespace {

static_assert(std::atomic<uint64_t>::is_always_lock_free && std::atomic<int32_t>::is_always_lock_free);

constexpr char MARK[] = "isobar simulated nccl";
constexpr size_t RANDOM_BYTES = 16;
constexpr size_t PAGE = 4096;
static_assert(sizeof(Front) <= PAGE);

using Seconds = std::chrono::duration<double>;

Seconds timeout() {
    const char* value = getenv("ISOBAR_SIM_NCCL_TIMEOUT");
    return Seconds(value != nullptr && *value != 0 ? atof(value) : 60);
}

std::string pathOf(const UniqueId& id) {
    std::string path = "/dev/shm/isobar-nccl-";
    for (size_t i = 0; i < RANDOM_BYTES; ++i) {
        path += format("%02x", static_cast<unsigned char>(id.bytes[sizeof MARK + i]));
    }
    return path;
}

}  // namespace

bool newId(UniqueId& id) {
    memset(id.bytes, 0, ID_BYTES);
    memcpy(id.bytes, MARK, sizeof MARK);
    return getrandom(id.bytes + sizeof MARK, RANDOM_BYTES, 0) == static_cast<ssize_t>(RANDOM_BYTES);
}

std::unique_ptr<Segment> Segment::attach(const UniqueId& id, int size, int rank, int gpu, Status& status) {
    if (memcmp(id.bytes, MARK, sizeof MARK) != 0) {
        status = refuse(INVALID_ARGUMENT, "ncclCommInitRank: the id does not come from ncclGetUniqueId");
        return nullptr;
    }
    std::string path = pathOf(id);
    std::unique_ptr<Segment> segment(new Segment(size));
    status = segment->open(path);
    status = status == SUCCESS ? segment->enter(rank, gpu) : status;
    status = status == SUCCESS ? segment->await(rank, path) : status;
    return status == SUCCESS ? std::move(segment) : nullptr;
}

// The file only grows here, so the order of the ranks does not matter.
Status Segment::open(const std::string& path) {
    auto ranks = static_cast<size_t>(size);
    bytes = PAGE + ranks * sizeof(Board) + ranks * ranks * sizeof(Mail);
    file = ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    int error = file < 0 ? errno : posix_fallocate(file, 0, static_cast<off_t>(bytes));
    if (error == 0) {
        base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        error = base == MAP_FAILED ? errno : 0;
    }
    if (error != 0) {
        base = nullptr;
        if (file >= 0) {
            unlink(path.c_str());
        }
        return refuse(SYSTEM_ERROR, format("ncclCommInitRank: %zu bytes of shared memory in %s: %s", bytes,
            path.c_str(), strerror(error)));
    }
    auto start = static_cast<char*>(base);
    front = reinterpret_cast<Front*>(start);
    boards = reinterpret_cast<Board*>(start + PAGE);
    mails = reinterpret_cast<Mail*>(start + PAGE + ranks * sizeof(Board));
    return SUCCESS;
}

Status Segment::enter(int rank, int gpu) {
    int32_t agreed = 0;
    if (!front->size.compare_exchange_strong(agreed, size) && agreed != size) {
        return refuse(INVALID_ARGUMENT, format("ncclCommInitRank: rank %d says there are %d ranks, and another rank "
            "%d", rank, size, agreed));
    }
    int32_t holder = 0;
    if (!front->members[rank].pid.compare_exchange_strong(holder, getpid())) {
        return refuse(INVALID_USAGE, format("ncclCommInitRank: processes %d and %d are both rank %d", holder, getpid(),
            rank));
    }
    const char* host = getenv("NCCL_HOSTID");
    front->members[rank].host = std::hash<std::string>()(host == nullptr ? "" : host);
    front->members[rank].gpu = gpu + 1;
    ++front->attached;
    return SUCCESS;
}

bool Segment::sameGpu(int first, int second) const {
    return gpu(first) == gpu(second) && front->members[first].host == front->members[second].host;
}

Status Segment::await(int rank, const std::string& path) {
    auto limit = std::chrono::steady_clock::now() + timeout();
    while (front->attached < size) {
        watch();
        int gone = dead();
        if (gone >= 0) {
            unlink(path.c_str());
            return refuse(REMOTE_ERROR, format("ncclCommInitRank: process %d, rank %d, has ended", pid(gone), gone));
        }
        if (std::chrono::steady_clock::now() > limit) {
            unlink(path.c_str());
            return refuse(SYSTEM_ERROR, format("ncclCommInitRank: rank %d of %d has waited %g s for rank %s", rank,
                size, timeout().count(), missing().c_str()));
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    watch();
    unlink(path.c_str());
    return SUCCESS;
}

// Takes a descriptor of each process that has come.
void Segment::watch() {
    processes.resize(static_cast<size_t>(size), -1);
    for (int rank = 0; rank < size; ++rank) {
        if (processes[rank] < 0 && pid(rank) != 0 && pid(rank) != getpid()) {
            processes[rank] = static_cast<int>(syscall(SYS_pidfd_open, pid(rank), 0));
        }
    }
}

int Segment::dead() const {
    for (int rank = 0; rank < size; ++rank) {
        if (pid(rank) == 0 || pid(rank) == getpid()) {
            continue;
        }
        pollfd process = {processes[rank], POLLIN, 0};
        if (process.fd < 0 ? kill(pid(rank), 0) != 0 && errno == ESRCH : poll(&process, 1, 0) > 0) {
            return rank;
        }
    }
    return -1;
}

std::string Segment::missing() const {
    std::string ranks;
    for (int rank = 0; rank < size; ++rank) {
        if (pid(rank) == 0) {
            ranks += (ranks.empty() ? "" : ", ") + std::to_string(rank);
        }
    }
    return ranks;
}

Segment::~Segment() {
    for (int process : processes) {
        if (process >= 0) {
            close(process);
        }
    }
    if (base != nullptr) {
        munmap(base, bytes);
    }
    if (file >= 0) {
        close(file);
    }
}

}  // namespace nccl
