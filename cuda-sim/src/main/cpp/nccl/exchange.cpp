#include "exchange.h"

#include <algorithm>
#include <cstring>

#include "reduce.h"
#include "status.h"

namespace nccl {
namespace {

// CUDA_ERROR_LAUNCH_FAILED, as if the kernel of the collective had found it.
constexpr int LAUNCH_FAILED = 719;

// Numbers of one rank's part that go in one piece. Of a reduce-scatter, a piece has the parts of all ranks.
size_t pieceCount(const Comm& comm, const Call& call) {
    size_t parts = call.kind == Kind::REDUCE_SCATTER ? comm.size : 1;
    size_t room = isCollective(call.kind) ? SLOT_BYTES : MAIL_BYTES;
    return room / parts / bytesOf(call.type);
}

struct Piece {
    size_t start;   // in bytes, of one rank's part
    size_t bytes;
};

Piece pieceAt(const Comm& comm, const Call& call, uint64_t index) {
    size_t most = pieceCount(comm, call);
    size_t first = index * most;
    return {first * bytesOf(call.type), std::min<size_t>(most, call.count - first) * bytesOf(call.type)};
}

// A call without numbers sends one empty piece, so that the ranks' calls are compared.
uint64_t pieces(const Comm& comm, const Call& call) {
    size_t most = pieceCount(comm, call);
    return std::max<uint64_t>(1, (call.count + most - 1) / most);
}

[[noreturn]] void fail(Comm& comm, const std::string& why) {
    comm.error = INVALID_USAGE;
    remember(why);
    sim_fail(LAUNCH_FAILED, why.c_str());
}

// ---- collectives ----

std::string describe(const Header& header) {
    return describe(static_cast<Kind>(header.kind), header.count, header.type, header.op, header.root);
}

Header headerOf(const Call& call, const Progress& progress) {
    Header header = {progress.number, call.count, static_cast<int32_t>(call.kind), call.type, call.op, call.root,
        call.factor.bits};
    if (call.factor.onDevice != nullptr) {
        memcpy(&header.factor, call.factor.onDevice, bytesOf(call.type));
    }
    return header;
}

bool agree(const Header& a, const Header& b) {
    return a.number == b.number && a.count == b.count && a.kind == b.kind && a.type == b.type && a.op == b.op
        && a.root == b.root;
}

const Slot& slotOf(Comm& comm, int rank, uint64_t piece) {
    return comm.segment->board(rank).slots[piece % SLOTS];
}

bool allHave(Comm& comm, std::atomic<uint64_t> Board::* counter, uint64_t atLeast) {
    for (int rank = 0; rank < comm.size; ++rank) {
        if ((comm.segment->board(rank).*counter).load(std::memory_order_acquire) < atLeast) {
            return false;
        }
    }
    return true;
}

void checkHeaders(Comm& comm, uint64_t piece) {
    const Header& first = slotOf(comm, 0, piece).header;
    for (int rank = 1; rank < comm.size; ++rank) {
        const Header& other = slotOf(comm, rank, piece).header;
        if (!agree(first, other)) {
            fail(comm, format("the ranks' collectives differ: rank 0 has issued operation %zu, %s; rank %d %s",
                static_cast<size_t>(first.number), describe(first).c_str(), rank, describe(other).c_str()));
        }
    }
}

void post(Comm& comm, const Call& call, Progress& progress) {
    Board& board = comm.segment->board(comm.rank);
    Slot& slot = board.slots[(progress.base + progress.posted) % SLOTS];
    slot.header = headerOf(call, progress);
    Piece piece = pieceAt(comm, call, progress.posted);
    if (call.send != nullptr && piece.bytes > 0) {
        int parts = call.kind == Kind::REDUCE_SCATTER ? comm.size : 1;
        for (int part = 0; part < parts; ++part) {
            auto from = static_cast<const char*>(call.send) + part * call.count * bytesOf(call.type) + piece.start;
            memcpy(slot.data + part * piece.bytes, from, piece.bytes);
        }
    }
    ++progress.posted;
    board.posted.store(progress.base + progress.posted, std::memory_order_release);
}

void reducePiece(Comm& comm, const Call& call, uint64_t index, Piece piece, size_t offset) {
    Contribution contributions[MOST_RANKS];
    for (int rank = 0; rank < comm.size; ++rank) {
        const Slot& slot = slotOf(comm, rank, index);
        contributions[rank] = {slot.data + offset, slot.header.factor};
    }
    reduce(call.type, call.op, contributions, comm.size, static_cast<char*>(call.receive) + piece.start,
        piece.bytes / bytesOf(call.type));
}

void take(Comm& comm, const Call& call, Progress& progress) {
    uint64_t index = progress.base + progress.taken;
    checkHeaders(comm, index);
    Piece piece = pieceAt(comm, call, progress.taken);
    auto result = static_cast<char*>(call.receive);
    if (result == nullptr || piece.bytes == 0) {
        // This rank receives nothing of this piece.
    } else if (isReduction(call.kind)) {
        reducePiece(comm, call, index, piece, call.kind == Kind::REDUCE_SCATTER ? comm.rank * piece.bytes : 0);
    } else if (call.kind == Kind::BROADCAST) {
        memcpy(result + piece.start, slotOf(comm, call.root, index).data, piece.bytes);
    } else {
        for (int rank = 0; rank < comm.size; ++rank) {
            memcpy(result + rank * call.count * bytesOf(call.type) + piece.start, slotOf(comm, rank, index).data,
                piece.bytes);
        }
    }
    ++progress.taken;
    comm.segment->board(comm.rank).taken.store(progress.base + progress.taken, std::memory_order_release);
}

Advance advanceCollective(Comm& comm, const Call& call, Progress& progress) {
    if (!progress.begun) {
        uint64_t base = comm.segment->board(comm.rank).posted.load();
        progress = {true, ++comm.operations, base, pieces(comm, call), 0, 0};
    }
    Advance result = Advance::STANDS;
    for (bool moved = true; moved;) {
        moved = false;
        uint64_t next = progress.base + progress.posted;
        if (progress.posted < progress.total && (next < SLOTS || allHave(comm, &Board::taken, next - SLOTS + 1))) {
            post(comm, call, progress);
            moved = true;
        }
        if (progress.taken < progress.posted && allHave(comm, &Board::posted, progress.base + progress.taken + 1)) {
            take(comm, call, progress);
            moved = true;
        }
        result = moved ? Advance::MOVED : result;
    }
    return progress.taken == progress.total ? Advance::DONE : result;
}

// ---- from one rank to another ----

void checkMail(Comm& comm, const Call& call, const Mail& mail) {
    if (mail.count != call.count || mail.type != call.type) {
        fail(comm, format("a send and its receive differ: rank %d has issued %s; rank %d %s", call.root,
            describe(Kind::SEND, mail.count, mail.type, SUM, comm.rank).c_str(), comm.rank,
            describe(call.kind, call.count, call.type, SUM, call.root).c_str()));
    }
}

// A send ends when all data has been received. The real one may end earlier, but programs cannot rely on that.
Advance advanceSend(Comm& comm, const Call& call, Progress& progress) {
    Mail& mail = comm.segment->mail(comm.rank, call.root);
    if (!progress.begun) {
        progress = {true, 0, mail.posted.load(), pieces(comm, call), 0, 0};
    }
    uint64_t taken = mail.taken.load(std::memory_order_acquire);
    if (taken < progress.base + progress.posted) {
        return Advance::STANDS;
    }
    if (progress.posted == progress.total) {
        return Advance::DONE;
    }
    Piece piece = pieceAt(comm, call, progress.posted);
    mail.count = call.count;
    mail.type = call.type;
    if (piece.bytes > 0) {
        memcpy(mail.data, static_cast<const char*>(call.send) + piece.start, piece.bytes);
    }
    ++progress.posted;
    mail.posted.store(progress.base + progress.posted, std::memory_order_release);
    return Advance::MOVED;
}

Advance advanceReceive(Comm& comm, const Call& call, Progress& progress) {
    Mail& mail = comm.segment->mail(call.root, comm.rank);
    if (!progress.begun) {
        progress = {true, 0, mail.taken.load(), pieces(comm, call), 0, 0};
    }
    if (mail.posted.load(std::memory_order_acquire) <= progress.base + progress.taken) {
        return Advance::STANDS;
    }
    checkMail(comm, call, mail);
    Piece piece = pieceAt(comm, call, progress.taken);
    if (piece.bytes > 0) {
        memcpy(static_cast<char*>(call.receive) + piece.start, mail.data, piece.bytes);
    }
    ++progress.taken;
    mail.taken.store(progress.base + progress.taken, std::memory_order_release);
    return progress.taken == progress.total ? Advance::DONE : Advance::MOVED;
}

}  // namespace

Advance advance(Comm& comm, const Call& call, Progress& progress) {
    switch (call.kind) {
        case Kind::SEND: return advanceSend(comm, call, progress);
        case Kind::RECEIVE: return advanceReceive(comm, call, progress);
        default: return advanceCollective(comm, call, progress);
    }
}

}  // namespace nccl
