// Runs the blocks of a launch one after the other. Between two barriers the warps of a block run in a random order,
// each as far as it can.
#include <algorithm>

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
}

// Runs a warp to a barrier or to its end.
void advance(Warp& warp) {
    const std::vector<Instruction>& code = warp.block->kernel->code;
    Counts& counts = *warp.block->counts;
    uint64_t steps = 0;
    while (!warp.paths.empty() && warp.waiting == nullptr) {
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
            ++counts.instructions[static_cast<int>(i.counted)];
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

void runBlock(Block& block, std::mt19937_64& random, uint32_t threads) {
    block.shared.open(block.kernel->sharedBase, block.kernel->dynamicBase - block.kernel->sharedBase
        + block.launch->dynamicShared);
    for (Warp& warp : block.warps) {
        begin(warp, block, threads);
    }
    std::vector<size_t> order(block.warps.size());
    for (size_t i = 0; i < order.size(); ++i) {
        order[i] = i;
    }
    while (true) {
        std::shuffle(order.begin(), order.end(), random);
        bool waiting = false;
        for (size_t i : order) {
            advance(block.warps[i]);
            waiting = waiting || block.warps[i].waiting != nullptr;
        }
        if (!waiting) {
            return;
        }
        passBarrier(block);
    }
}

}  // namespace

void fail(const Warp& warp, const Instruction& i, const std::string& what) {
    const Block& block = *warp.block;
    throw Error(format("block (%u, %u, %u), warp %d, lanes %#x, line %d of the PTX: %s", block.index.x, block.index.y,
        block.index.z, warp.number, warp.mask, i.line, what.c_str()));
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
    Block block;
    block.kernel = &kernel;
    block.launch = &launch;
    block.counts = &counts;
    uint32_t threads = launch.block.x * launch.block.y * launch.block.z;
    block.warps.resize((threads + LANES - 1) / LANES);
    for (size_t i = 0; i < block.warps.size(); ++i) {
        block.warps[i].block = &block;
        block.warps[i].number = static_cast<int>(i);
        setUp(block.warps[i], kernel, launch);
    }
    std::mt19937_64 random(launch.seed);
    for (uint32_t z = 0; z < launch.grid.z; ++z) {
        for (uint32_t y = 0; y < launch.grid.y; ++y) {
            for (uint32_t x = 0; x < launch.grid.x; ++x) {
                block.index = {x, y, z};
                runBlock(block, random, threads);
                ++block.number;
                ++block.barriers;
            }
        }
    }
    counts.blocks = block.number;
    counts.warps = block.number * block.warps.size();
    return counts;
}

}  // namespace ptx
