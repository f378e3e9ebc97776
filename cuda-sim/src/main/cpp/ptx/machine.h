// The PTX machine: runs the code that NVRTC makes of a kernel. It is written from the PTX ISA and shares nothing with
// the kernels' C++ twin. What it does not know is an Error.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace ptx {

// What the machine does not know, or what a kernel does wrong.
struct Error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Program;
struct Kernel;

enum class Use { READ, WRITE, ATOMIC };

// A warp's access to global memory: for each lane of `mask`, `bytes` bytes at its address.
struct GlobalAccess {
    const uint64_t* addresses;
    uint32_t mask;
    unsigned bytes;
    Use use;
    uint64_t block;        // linear index in the grid
    uint32_t firstThread;  // of the warp, in its block
    uint64_t barriers;     // how many its block has passed
};

// The device's memory.
class Memory {
public:
    virtual ~Memory() = default;
    // What is wrong with the access, or an empty text.
    virtual std::string check(const GlobalAccess& access) = 0;
};

// What a launch did, summed over its warps. Instructions are those of PTX.
enum class Class {
    INTEGER, FLOAT, DOUBLE, FUNCTION, CONVERT, MOVE, BRANCH, WARP, MATRIX, GLOBAL, SHARED, ASYNC, BARRIER
};
constexpr int CLASSES = 13;
const char* name(Class one);

struct Counts {
    uint64_t instructions[CLASSES] = {};
    uint64_t sectors = 0;          // of 32 bytes, of global memory
    uint64_t leastSectors = 0;     // that the same bytes take
    uint64_t wavefronts = 0;       // of shared memory: passes in which each bank serves one word
    uint64_t leastWavefronts = 0;  // that the same words take
    uint64_t blocks = 0;
    uint64_t warps = 0;
};

struct Extent {
    uint32_t x, y, z;
};

struct Launch {
    Extent grid;
    Extent block;
    size_t dynamicShared = 0;
    void** parameters = nullptr;
    Memory* memory = nullptr;
    uint64_t seed = 0;    // of the order of warps
    int capability = 90;  // whose tensor cores are modelled
};

// Decodes all kernels of a text. Throws an Error.
std::shared_ptr<Program> load(const std::string& text);

const std::string& title(const Program& program);
int target(const Program& program);  // 90 for sm_90

// A kernel of the program, or null.
const Kernel* find(const Program& program, const std::string& name);

struct KernelInfo {
    std::vector<size_t> parameters;  // their sizes
    int mostThreads;
    size_t staticShared;
};
const KernelInfo& info(const Kernel& kernel);

// Runs a grid, block by block. Throws an Error that says what is wrong and where.
Counts run(const Kernel& kernel, const Launch& launch);

}  // namespace ptx
