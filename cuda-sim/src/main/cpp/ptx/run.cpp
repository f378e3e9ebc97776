// Runs the blocks of a launch, a few at a time, which start in a random order. In turns of random order, about half of
// them run to their next barrier, or until a warp polls what other blocks write, so that some get ahead of others.
// Between two barriers the warps of a block run in a random order, each as far as it can.
#include <algorithm>
#include <numeric>

#include "decode.h"
#include "format.h"
#include "warp.h"

namespace ptx {

struct Program {
    std::string title;
    int target = 0;
    std::vector<std::unique_ptr<Kernel>> kernels;
};

namespace {

constexpr size_t RESIDENT = 6;  // blocks at a time
constexpr int MOST_IDLE_TURNS = 64;  // by then each block has polled several times
constexpr uint64_t MOST_INSTRUCTIONS = 400'000'000;  // of a warp: beyond, it is taken to loop for ever

uint32_t special(const Block& block, const std::string& name, uint32_t thread) {
    const Launch& launch = *block.launch;
    uint32_t x = launch.block.x;
    uint32_t y = launch.block.y;
    if (name == "%tid.x") return thread % x;
    if (name == "%tid.y") return thread / x % y;
    if (name == "%tid.z") return thread / x / y;
    if (name == "%ntid.x") return launch.block.x;
    if (name == "%ntid.y") return launch.block.y;
    if (name == "%ntid.z") return launch.block.z;
    if (name == "%ctaid.x") return block.index.x;
    if (name == "%ctaid.y") return block.index.y;
    if (name == "%ctaid.z") return block.index.z;
    if (name == "%nctaid.x") return launch.grid.x;
    if (name == "%nctaid.y") return launch.grid.y;
    if (name == "%nctaid.z") return launch.grid.z;
    if (name == "%laneid") return thread % LANES;
    throw Error(format("kernel %s: the special register %s is not known", block.kernel->name.c_str(), name.c_str()));
}

void fill(Warp& warp, uint32_t row, uint64_t bits, int bytes) {
    for (int lane = 0; lane < LANES; ++lane) {
        memcpy(warp.row<char>(row) + lane * bytes, &bits, bytes);
    }
}

// What stays the same in all blocks.
void setUp(Warp& warp, const Kernel& kernel, const Launch& launch) {
    warp.rows.assign(kernel.rowBytes / sizeof(Line) + 1, Line{});
    warp.predicates.assign(kernel.predicates + 1, 0);
    for (const auto& [predicate, value] : kernel.truths) {
        warp.predicates[predicate] = value;
    }
    for (const auto& constant : kernel.constants) {
        fill(warp, constant.row, constant.bits, constant.bytes);
    }
    for (const auto& parameter : kernel.parameters) {
        uint64_t bits = 0;
        memcpy(&bits, launch.parameters[parameter.number], parameter.bytes);
        fill(warp, parameter.row, bits, parameter.bytes);
    }
}

void begin(Warp& warp, Block& block, uint32_t threads) {
    uint32_t first = static_cast<uint32_t>(warp.number) * LANES;
    uint32_t count = std::min<uint32_t>(LANES, threads - first);
    for (const auto& one : block.kernel->specials) {
        for (uint32_t lane = 0; lane < LANES; ++lane) {
            warp.row<uint32_t>(one.row)[lane] = special(block, one.name, first + lane);
        }
    }
    warp.alive = count == LANES ? ALL : (1u << count) - 1;
    warp.paths.assign(1, {warp.alive, 0, -1});
    warp.groups.assign(1, {});
    warp.waiting = nullptr;
    warp.polls = warp.uncounted = false;
}

// Runs a warp to a barrier, to its end, or until it polls.
void advance(Warp& warp) {
    const std::vector<Instruction>& code = warp.block->kernel->code;
    Counts& counts = *warp.block->counts;
    uint64_t steps = 0;
    while (!warp.paths.empty() && warp.waiting == nullptr && !warp.polls) {
        Path& path = warp.paths.back();
        if (path.lanes == 0 || path.next == path.meet) {
            warp.paths.pop_back();
            continue;
        }
        warp.parted = false;
        warp.next = path.next;
        int meet = path.meet;
        uint32_t lanes = path.lanes;
        while (!warp.parted) {
            if (warp.next == meet) {
                path.next = meet;
                break;
            }
            const Instruction& i = code[warp.next++];
            counts.instructions[static_cast<int>(i.counted)] += warp.uncounted ? 0 : 1;
            warp.uncounted = warp.uncounted && i.counted != Class::BRANCH;
            warp.mask = lanes;
            if (i.guard >= 0) {
                uint32_t holds = warp.predicates[i.guard];
                warp.mask &= i.negated ? ~holds : holds;
                if (warp.mask == 0) {
                    continue;
                }
            }
            i.run(warp, i);
            if (++steps > MOST_INSTRUCTIONS) {
                fail(warp, i, "this warp does not end");
            }
        }
    }
}

// All warps are at a barrier or have ended.
void passBarrier(Block& block) {
    const Warp& first = *std::find_if(block.warps.begin(), block.warps.end(), [](const Warp& warp) {
        return warp.waiting != nullptr;
    });
    bool any = false;
    for (const Warp& warp : block.warps) {
        if (warp.waiting == nullptr) {
            fail(first, *first.waiting, format("warp %d has ended while this one waits", warp.number));
        }
        if (warp.waiting->offset != first.waiting->offset || warp.votes != first.votes) {
            fail(warp, *warp.waiting, format("another barrier than that of warp %d, line %d", first.number,
                first.waiting->line));
        }
        any = any || (warp.votes && (warp.predicates[warp.waiting->at[2]] & warp.alive) != 0);
    }
    ++block.barriers;
    for (Warp& warp : block.warps) {
        if (warp.votes) {
            uint32_t& p = warp.predicates[warp.waiting->at[0]];
            p = (p & ~warp.alive) | (any ? warp.alive : 0);
        }
        warp.waiting = nullptr;
    }
}

void add(const Addition& one) { *reinterpret_cast<float*>(one.to) += one.value; }

// A message: no block can go on.
std::string waiting(const Block& block, size_t blocks) {
    return format("block (%u, %u, %u): it and the other %zu blocks that have started wait for ever for what other "
        "blocks write", block.index.x, block.index.y, block.index.z, blocks - 1);
}

void open(Block& block, uint64_t number, uint32_t threads) {
    const Extent& grid = block.launch->grid;
    block.number = number;
    block.index = {static_cast<uint32_t>(number % grid.x), static_cast<uint32_t>(number / grid.x % grid.y),
        static_cast<uint32_t>(number / grid.x / grid.y)};
    block.shared.open(block.kernel->sharedBase, block.kernel->dynamicBase - block.kernel->sharedBase
        + block.launch->dynamicShared);
    for (Warp& warp : block.warps) {
        begin(warp, block, threads);
    }
}

enum class Stop { BARRIER, END, POLL };

// Runs the warps of a block to their next barrier. If one only polls, again or for the first time, that is all it does.
Stop advance(Block& block, std::mt19937_64& random, bool& progress) {
    std::vector<size_t> order(block.warps.size());
    for (size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    std::shuffle(order.begin(), order.end(), random);
    Stop stop = Stop::END;
    for (size_t i : order) {
        Warp& warp = block.warps[i];
        if (warp.waiting == nullptr && !warp.paths.empty()) {
            bool again = warp.polls;
            warp.polls = false;
            advance(warp);
            progress = progress || !(again && warp.polls);
        }
        stop = warp.polls ? Stop::POLL : stop == Stop::END && warp.waiting != nullptr ? Stop::BARRIER : stop;
    }
    if (stop == Stop::BARRIER) {
        passBarrier(block);
        progress = true;
    }
    return stop;
}

}  // namespace

void fail(const Warp& warp, const Instruction& i, const std::string& what) {
    const Block& block = *warp.block;
    throw Error(format("block (%u, %u, %u), warp %d, lanes %#x, line %d of the PTX: %s", block.index.x, block.index.y,
        block.index.z, warp.number, warp.mask, i.line, what.c_str()));
}

void perform(Block& block, const Warp& fencing) {
    std::erase_if(block.additions, [&](const Addition& one) {
        bool ordered = one.warp == fencing.number || one.barriers < block.barriers;
        if (ordered) {
            add(one);
        }
        return ordered;
    });
}

const char* name(Class one) {
    constexpr const char* NAMES[] = {"integer", "float", "double", "function", "convert", "move", "branch", "warp",
        "matrix", "global", "shared", "async", "barrier"};
    return NAMES[static_cast<int>(one)];
}

std::shared_ptr<Program> load(const std::string& source) {
    Text text = parse(source);
    auto program = std::make_shared<Program>();
    program->title = text.title;
    program->target = text.target;
    for (const Function& function : text.entries) {
        program->kernels.push_back(decode(function, text));
    }
    return program;
}

const std::string& title(const Program& program) { return program.title; }
int target(const Program& program) { return program.target; }

const Kernel* find(const Program& program, const std::string& name) {
    for (const auto& kernel : program.kernels) {
        if (kernel->name == name) {
            return kernel.get();
        }
    }
    return nullptr;
}

const KernelInfo& info(const Kernel& kernel) { return kernel.info; }

Counts run(const Kernel& kernel, const Launch& launch) {
    Counts counts;
    uint32_t threads = launch.block.x * launch.block.y * launch.block.z;
    std::vector<uint64_t> numbers(static_cast<uint64_t>(launch.grid.x) * launch.grid.y * launch.grid.z);
    std::iota(numbers.begin(), numbers.end(), 0);
    std::mt19937_64 random(launch.seed);
    std::shuffle(numbers.begin(), numbers.end(), random);
    std::vector<std::unique_ptr<Block>> resident(std::min(RESIDENT, numbers.size()));
    std::vector<Addition> late;
    counts.blocks = numbers.size();
    counts.warps = counts.blocks * ((threads + LANES - 1) / LANES);
    for (auto& block : resident) {
        block = std::make_unique<Block>();
        block->kernel = &kernel;
        block->launch = &launch;
        block->counts = &counts;
        block->warps.resize((threads + LANES - 1) / LANES);
        for (size_t i = 0; i < block->warps.size(); ++i) {
            block->warps[i].block = block.get();
            block->warps[i].number = static_cast<int>(i);
            setUp(block->warps[i], kernel, launch);
        }
        open(*block, numbers.back(), threads);
        numbers.pop_back();
    }
    for (int idle = 0; !resident.empty();) {
        bool progress = false;
        std::shuffle(resident.begin(), resident.end(), random);
        for (auto& block : resident) {
            if (random() % 2 == 0 || advance(*block, random, progress) != Stop::END) {
                continue;
            }
            late.insert(late.end(), block->additions.begin(), block->additions.end());
            block->additions.clear();
            ++block->barriers;
            if (numbers.empty()) {
                block = nullptr;
            } else {
                open(*block, numbers.back(), threads);
                numbers.pop_back();
            }
        }
        idle = progress ? 0 : idle + 1;
        if (idle > MOST_IDLE_TURNS) {
            throw Error(waiting(*resident.front(), resident.size()));
        }
        std::erase(resident, nullptr);
    }
    std::shuffle(late.begin(), late.end(), random);
    for (const Addition& one : late) {
        add(one);
    }
    return counts;
}

}  // namespace ptx
