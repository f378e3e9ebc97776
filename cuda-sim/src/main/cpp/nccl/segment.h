// Memory shared by the ranks of one communicator: a file in /dev/shm, unlinked as soon as all ranks have opened it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "nccl.h"

namespace nccl {

constexpr int MOST_RANKS = 64;
constexpr size_t SLOT_BYTES = 256 << 10;
constexpr size_t MAIL_BYTES = 32 << 10;
constexpr uint64_t SLOTS = 2;

// The next call of a rank. The calls of all ranks must agree, except for the factor.
struct Header {
    uint64_t number;  // of the communicator's collective operations, from 1
    uint64_t count;
    int32_t kind;
    int32_t type;
    int32_t op;
    int32_t root;
    uint64_t factor;
};

struct Slot {
    Header header;
    alignas(64) unsigned char data[SLOT_BYTES];
};

// One rank's part of the collectives, which run in rounds: in each it posts a piece, and then takes what it needs from
// the pieces of the others. Piece i of all rounds is in slot i % SLOTS until all ranks have taken it.
struct Board {
    alignas(64) std::atomic<uint64_t> posted;
    alignas(64) std::atomic<uint64_t> taken;
    Slot slots[SLOTS];
};

// From one rank to another, piece by piece.
struct Mail {
    alignas(64) std::atomic<uint64_t> posted;
    alignas(64) std::atomic<uint64_t> taken;
    uint64_t count;
    int32_t type;
    alignas(64) unsigned char data[MAIL_BYTES];
};

// The process of a rank.
struct Member {
    std::atomic<int32_t> pid;   // 0: not started yet
    std::atomic<int32_t> gpu;   // number on the machine, from 1
    std::atomic<uint64_t> host; // what NCCL takes for its machine
};

// All is zero in a new file.
struct Front {
    std::atomic<int32_t> size;
    std::atomic<int32_t> attached;
    std::atomic<int32_t> connecting;  // ranks that have called their first collective
    Member members[MOST_RANKS];
};

class Segment {
public:
    // Waits for all ranks. On a failure, prints it, sets the status and returns null.
    static std::unique_ptr<Segment> attach(const UniqueId& id, int size, int rank, int gpu, Status& status);
    ~Segment();

    Board& board(int rank) { return boards[rank]; }
    Mail& mail(int from, int to) { return mails[from * size + to]; }

    // Whether NCCL sees these ranks on the same GPU: NCCL_HOSTID can make it take a machine for several.
    bool sameGpu(int first, int second) const;

    // Number on the machine.
    int gpu(int rank) const { return front->members[rank].gpu - 1; }
    pid_t pid(int rank) const { return front->members[rank].pid; }

    // Notes that this rank has called its first collective.
    void connect() { ++front->connecting; }
    // Whether all ranks have.
    bool connected() const { return front->connecting >= size; }

    // The first rank whose process has ended, or -1.
    int dead() const;

private:
    explicit Segment(int size) : size(size) {}
    Status open(const std::string& path);
    Status enter(int rank, int gpu);
    Status await(int rank, const std::string& path);
    void watch();
    std::string missing() const;

    int size;
    int file = -1;
    size_t bytes = 0;
    void* base = nullptr;
    Front* front = nullptr;
    Board* boards = nullptr;
    Mail* mails = nullptr;
    std::vector<int> processes;  // descriptors that are readable once the process has ended
};

// A new unique id; empty if the machine has no random numbers.
bool newId(UniqueId& id);

}  // namespace nccl
