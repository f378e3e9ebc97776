// What the lanes of a warp, or the warps of a block, do together: shuffles, votes, barriers.
#include "format.h"
#include "warp.h"

namespace ptx {
namespace {

// All lanes that a mask names, and that have not ended, must be here; and only they.
void needLanes(Warp& warp, const Instruction& i, int operand) {
    const uint32_t* members = warp.row<uint32_t>(i.at[operand]);
    for (int lane = 0; lane < LANES; ++lane) {
        if ((warp.mask >> lane & 1) != 0 && (members[lane] & warp.alive) != warp.mask) {
            fail(warp, i, format("lanes %#x are here, the mask of lane %d names %#x", warp.mask, lane, members[lane]));
        }
    }
}

enum Shuffle { INDEX, UP, DOWN, BUTTERFLY };

template <Shuffle KIND> int sourceOf(int lane, int b, int c, bool& valid) {
    int segments = c >> 8 & 31;
    int clamp = c & 31;
    b &= 31;
    int last = (lane & segments) | (clamp & ~segments & 31);
    int first = lane & segments;
    int source = KIND == INDEX ? first | (b & ~segments & 31) : KIND == UP ? lane - b : KIND == DOWN ? lane + b
        : lane ^ b;
    valid = KIND == UP ? source >= last : source <= last;
    return valid ? source : lane;
}

// Operands: value, predicate, source, lane or distance, clamp and segments, mask.
template <Shuffle KIND, int SKIPPED> void shuffle(Warp& warp, const Instruction& i) {
    needLanes(warp, i, 5 - SKIPPED);
    const uint32_t* a = warp.row<uint32_t>(i.at[2 - SKIPPED]);
    const uint32_t* b = warp.row<uint32_t>(i.at[3 - SKIPPED]);
    const uint32_t* c = warp.row<uint32_t>(i.at[4 - SKIPPED]);
    uint32_t result[LANES];
    uint32_t valid = 0;
    for (int lane = 0; lane < LANES; ++lane) {
        if ((warp.mask >> lane & 1) == 0) {
            continue;
        }
        bool inside = false;
        int source = sourceOf<KIND>(lane, static_cast<int>(b[lane]), static_cast<int>(c[lane]), inside);
        if ((warp.mask >> source & 1) == 0) {
            fail(warp, i, format("lane %d reads from lane %d, which is not here", lane, source));
        }
        result[lane] = a[source];
        valid |= static_cast<uint32_t>(inside) << lane;
    }
    each(warp, warp.row<uint32_t>(i.at[0]), [&](int lane) { return result[lane]; });
    if constexpr (SKIPPED == 0) {
        uint32_t& p = warp.predicates[i.at[1]];
        p = (p & ~warp.mask) | valid;
    }
}

enum Vote { ANY, EVERY };

template <Vote KIND> void vote(Warp& warp, const Instruction& i) {
    needLanes(warp, i, 2);
    uint32_t holds = warp.predicates[i.at[1]] & warp.mask;
    bool result = KIND == ANY ? holds != 0 : holds == warp.mask;
    uint32_t& p = warp.predicates[i.at[0]];
    p = (p & ~warp.mask) | (result ? warp.mask : 0);
}

void ballot(Warp& warp, const Instruction& i) {
    needLanes(warp, i, 2);
    uint32_t holds = warp.predicates[i.at[1]] & warp.mask;
    each(warp, warp.row<uint32_t>(i.at[0]), [=](int) { return holds; });
}

void warpBarrier(Warp& warp, const Instruction& i) {
    needLanes(warp, i, 0);
}

// The block goes on when all its warps are here; see run.cpp.
void blockBarrier(Warp& warp, const Instruction& i) {
    warp.votes = false;
    if (warp.mask != warp.alive || warp.alive == 0) {
        fail(warp, i, format("a barrier that only lanes %#x of %#x reach", warp.mask, warp.alive));
    }
    warp.waiting = &i;
    warp.parted = true;
    warp.paths.back().next = warp.next;
}

// All threads learn whether the predicate holds in any of them.
void votingBarrier(Warp& warp, const Instruction& i) {
    blockBarrier(warp, i);
    warp.votes = true;
}

#define SHUFFLE(name, kind) \
    {"shfl.sync." name ".b32", {shuffle<kind, 0>, "wpwwww", Class::WARP}}, \
    {"shfl.sync." name ".b32 alone", {shuffle<kind, 1>, "wwwww", Class::WARP}}

}  // namespace

Meanings warpMeanings() {
    return {
        SHUFFLE("idx", INDEX), SHUFFLE("up", UP), SHUFFLE("down", DOWN), SHUFFLE("bfly", BUTTERFLY),
        {"vote.sync.any.pred", {vote<ANY>, "ppw", Class::WARP}},
        {"vote.sync.all.pred", {vote<EVERY>, "ppw", Class::WARP}},
        {"vote.sync.ballot.b32", {ballot, "wpw", Class::WARP}},
        {"bar.warp.sync", {warpBarrier, "w", Class::WARP}},
        {"bar.sync", {blockBarrier, "i", Class::BARRIER}},
        {"bar.red.or.pred", {votingBarrier, "pip", Class::BARRIER}},
    };
}

}  // namespace ptx
