// Branches, the end, and where lanes that part meet again: at the immediate post-dominator of the branch.
#include <algorithm>

#include "decode.h"

namespace ptx {
namespace {

// Takes the lanes of the present path that `take` one way and the others the other way.
void part(Warp& warp, const Instruction& i, uint32_t taken) {
    taken &= warp.mask;
    uint32_t others = warp.mask & ~taken;
    if (others == 0) {
        warp.next = i.target;
        return;
    }
    if (taken == 0) {
        return;
    }
    int after = warp.next;
    warp.paths.back().next = i.meet;
    warp.paths.push_back({others, after, i.meet});
    warp.paths.push_back({taken, i.target, i.meet});
    warp.parted = true;
}

void jump(Warp& warp, const Instruction& i) {
    warp.next = i.target;
}

void jumpIf(Warp& warp, const Instruction& i) {
    part(warp, i, warp.predicates[i.at[0]]);
}

void jumpUnless(Warp& warp, const Instruction& i) {
    part(warp, i, ~warp.predicates[i.at[0]]);
}

void end(Warp& warp, const Instruction&) {
    warp.alive &= ~warp.mask;
    warp.paths.back().next = -1;
    for (Path& path : warp.paths) {
        path.lanes &= ~warp.mask;
    }
    warp.parted = true;
}

bool isEnd(const Instruction& i) {
    return i.run == end && i.guard < 0;
}

// The instructions that can follow one; `code.size()` stands for the end.
std::vector<int> following(const std::vector<Instruction>& code, int at) {
    const Instruction& i = code[at];
    if (isEnd(i)) {
        return {static_cast<int>(code.size())};
    }
    if (i.run == end) {
        return {at + 1, static_cast<int>(code.size())};
    }
    if (i.target < 0) {
        return {at + 1};
    }
    return i.run == jump ? std::vector<int>{i.target} : std::vector<int>{at + 1, i.target};
}

// An order in which every instruction comes after those that follow it, but for loops.
std::vector<int> postorder(const std::vector<std::vector<int>>& before, int start) {
    std::vector<int> order;
    std::vector<bool> seen(before.size());
    std::vector<std::pair<int, size_t>> stack{{start, 0}};
    seen[start] = true;
    while (!stack.empty()) {
        auto& [at, tried] = stack.back();
        if (tried == before[at].size()) {
            order.push_back(at);
            stack.pop_back();
            continue;
        }
        int one = before[at][tried++];
        if (!seen[one]) {
            seen[one] = true;
            stack.emplace_back(one, 0);
        }
    }
    return order;
}

}  // namespace

// The algorithm of Cooper, Harvey and Kennedy for dominators, on the reversed graph.
void setMeetings(std::vector<Instruction>& code) {
    int end = static_cast<int>(code.size());
    std::vector<std::vector<int>> before(code.size() + 1);
    for (int at = 0; at < end; ++at) {
        for (int one : following(code, at)) {
            before[one].push_back(at);
        }
    }
    std::vector<int> order = postorder(before, end);
    std::vector<int> rank(code.size() + 1, -1);
    for (size_t i = 0; i < order.size(); ++i) {
        rank[order[i]] = static_cast<int>(i);
    }
    std::vector<int> meet(code.size() + 1, -1);
    meet[end] = end;
    for (bool changed = true; changed;) {
        changed = false;
        for (auto at = order.rbegin() + 1; at != order.rend(); ++at) {
            int found = -1;
            for (int one : following(code, *at)) {
                if (meet[one] < 0) {
                    continue;
                }
                int other = one;
                while (found >= 0 && found != other) {
                    if (rank[found] < rank[other]) {
                        found = meet[found];
                    } else {
                        other = meet[other];
                    }
                }
                found = other;
            }
            if (found >= 0 && meet[*at] != found) {
                meet[*at] = found;
                changed = true;
            }
        }
    }
    for (int at = 0; at < end; ++at) {
        code[at].meet = meet[at] == end ? -1 : meet[at];
    }
}

Meanings flowMeanings() {
    return {
        {"bra", {jump, "t", Class::BRANCH}},
        {"bra.uni", {jump, "t", Class::BRANCH}},
        {"bra if", {jumpIf, "pt", Class::BRANCH}},
        {"bra unless", {jumpUnless, "pt", Class::BRANCH}},
        {"ret", {end, "", Class::BRANCH}},
        {"exit", {end, "", Class::BRANCH}},
    };
}

}  // namespace ptx
