#include "launch.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>

#include "access.h"
#include "capture.h"
#include "ptx_launch.h"
#include "shared.h"

namespace sim {
namespace {

constexpr uint32_t MOST_BLOCKS_X = 0x7fffffff;
constexpr uint32_t MOST_BLOCKS_YZ = 65535;
constexpr uint32_t MOST_THREADS_Z = 64;
constexpr int THREADS_PER_MULTIPROCESSOR = 2048;
constexpr int BLOCKS_PER_MULTIPROCESSOR = 32;
constexpr size_t SHARED_RESERVED = 1 << 10;  // by the system, of each block

// The values of a launch's parameters, each in sixteen bytes or more.
struct Parameters {
    std::vector<std::vector<std::max_align_t>> values;
    std::vector<void*> addresses;
};

std::shared_ptr<Parameters> copyParameters(const Kernel& kernel, void** parameters) {
    auto copy = std::make_shared<Parameters>();
    for (int i = 0; i < kernel.parameters; ++i) {
        if (parameters == nullptr || parameters[i] == nullptr) {
            refuse(INVALID_VALUE, format("%s takes %d parameters, number %d is missing", kernel.title.c_str(),
                kernel.parameters, i));
        }
        copy->values.emplace_back(kernel.sizes[i] / sizeof(std::max_align_t) + 1);
        memcpy(copy->values.back().data(), parameters[i], kernel.sizes[i]);
    }
    for (auto& value : copy->values) {
        copy->addresses.push_back(value.data());
    }
    return copy;
}

// In a random order, which differs from launch to launch.
void forEachBlock(Index grid) {
    std::vector<uint64_t> numbers(static_cast<uint64_t>(grid.x) * grid.y * grid.z);
    std::iota(numbers.begin(), numbers.end(), 0);
    std::shuffle(numbers.begin(), numbers.end(), std::mt19937_64(config().seed + running()->number));
    for (uint64_t number : numbers) {
        launch.blockNumber = number;
        launch.blockIndex = {static_cast<uint32_t>(number % grid.x), static_cast<uint32_t>(number / grid.x % grid.y),
            static_cast<uint32_t>(number / grid.x / grid.y)};
        runBlock();
    }
}

void failIfAsked(const Kernel& kernel) {
    static long count = 0;
    const std::string& named = config().failingKernel;
    bool counts = named.empty() || kernel.title.rfind(named + " ", 0) == 0;
    if (counts && ++count == config().failingLaunch) {
        breakDevice(ILLEGAL_ADDRESS, format("kernel %s: launch %ld fails, as ISOBAR_SIM_FAIL asks",
            kernel.title.c_str(), count));
    }
}

void runLaunch(const Kernel& kernel, Index grid, Index block, size_t dynamicShared, void** parameters) {
    failIfAsked(kernel);
    launch = {};
    launch.kernel = &kernel;
    launch.grid = grid;
    launch.block = block;
    launch.dynamicShared = dynamicShared;
    launch.parameters = parameters;
    launch.threads = static_cast<int>(block.x * block.y * block.z);
    launch.fenced.resize(static_cast<size_t>(grid.x) * grid.y * grid.z);
    actor = {};
    actor.operation = running()->number;
    forgetAllocations();
    if (kernel.code != nullptr) {
        runPtx(kernel, grid, block, dynamicShared, parameters);
        return;
    }
    openShared();
    forEachBlock(grid);
}

}  // namespace

void checkLaunch(const Kernel& kernel, Index grid, Index block, size_t dynamicShared) {
    std::string who = format("launch of %s on %u x %u x %u blocks of %u x %u x %u threads: ", kernel.title.c_str(),
        grid.x, grid.y, grid.z, block.x, block.y, block.z);
    uint64_t threads = static_cast<uint64_t>(block.x) * block.y * block.z;
    if (threads == 0 || static_cast<uint64_t>(grid.x) * grid.y * grid.z == 0) {
        refuse(INVALID_VALUE, who + "nothing to run");
    }
    if (grid.x > MOST_BLOCKS_X || grid.y > MOST_BLOCKS_YZ || grid.z > MOST_BLOCKS_YZ) {
        refuse(INVALID_VALUE, who + "a grid has at most 2147483647 x 65535 x 65535 blocks");
    }
    if (threads > MOST_THREADS || block.z > MOST_THREADS_Z) {
        refuse(INVALID_VALUE, who + "a block has at most 1024 threads, 64 in z");
    }
    if (threads > static_cast<uint64_t>(kernel.mostThreads)) {
        refuse(LAUNCH_OUT_OF_RESOURCES, who + format("__launch_bounds__ allows %d threads", kernel.mostThreads));
    }
    size_t fixed = staticSharedBytes(kernel);
    if (dynamicShared > kernel.mostDynamicShared || dynamicShared + fixed > static_cast<size_t>(mostShared())) {
        refuse(INVALID_VALUE, who + format("%zu bytes of dynamic shared memory, cuFuncSetAttribute allowed %zu",
            dynamicShared, kernel.mostDynamicShared));
    }
}

void issueLaunch(Stream* stream, const Kernel& kernel, Index grid, Index block, size_t dynamicShared,
    void** parameters) {
    auto copy = copyParameters(kernel, parameters);
    Task task;
    task.name = kernel.title;
    task.prepare = [=, &kernel] {
        checkedKernel(const_cast<Kernel*>(&kernel));
        return [=, &kernel] { runLaunch(kernel, grid, block, dynamicShared, copy->addresses.data()); };
    };
    issue(stream, std::move(task));
}

int blocksPerMultiprocessor(const Kernel& kernel, int threads, size_t dynamicShared) {
    if (threads <= 0 || threads > kernel.mostThreads) {
        return 0;
    }
    int warps = (threads + WARP - 1) / WARP;
    int byThreads = THREADS_PER_MULTIPROCESSOR / (warps * WARP);
    size_t shared = staticSharedBytes(kernel) + dynamicShared + SHARED_RESERVED;
    int byShared = static_cast<int>((mostShared() + SHARED_RESERVED) / shared);
    return std::min({byThreads, BLOCKS_PER_MULTIPROCESSOR, byShared});
}

}  // namespace sim
