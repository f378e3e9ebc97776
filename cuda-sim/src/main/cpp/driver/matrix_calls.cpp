// The functions that kernels call through ptx.cuh: products of a warp, shared memory to fragments, asynchronous
// copies. Fragments are laid out as the PTX ISA says ("Matrix fragments for mma.m16n8k16", "... .m16n8k8", "ldmatrix").
#include <cstring>

#include "access.h"
#include "api.h"
#include "block.h"
#include "number_formats.h"
#include "shared.h"

using namespace sim;

namespace {

constexpr uint32_t ALL_LANES = 0xffffffffu;
constexpr int ROWS = 16;
constexpr int COLUMNS = 8;
constexpr size_t VECTOR = 16;

enum Format { BF16, HALF, TF32 };

struct Product {
    float* d;
    const unsigned* a;
    const unsigned* b;
    Place place;
};

struct Operands {
    float a[ROWS][16];
    float b[16][COLUMNS];
};

float element(unsigned word, int half, Format format) {
    auto bits = static_cast<uint16_t>(word >> (16 * half));
    return format == BF16 ? fromBf16(bits) : fromHalf(bits);
}

// Two elements of 16 bits in a word: columns 2t, 2t + 1 of a, rows 2t, 2t + 1 of b; t is the lane's place in its group.
void gather16(void** arguments, Format format, Operands& operands) {
    for (int lane = 0; lane < WARP; ++lane) {
        auto product = static_cast<Product*>(arguments[lane]);
        int group = lane / 4;
        int pair = lane % 4 * 2;
        for (int half = 0; half < 2; ++half) {
            for (int i = 0; i < 4; ++i) {
                operands.a[group + i % 2 * 8][pair + half + i / 2 * 8] = element(product->a[i], half, format);
            }
            for (int i = 0; i < 2; ++i) {
                operands.b[pair + half + i * 8][group] = element(product->b[i], half, format);
            }
        }
    }
}

void gatherTf32(void** arguments, Operands& operands) {
    for (int lane = 0; lane < WARP; ++lane) {
        auto product = static_cast<Product*>(arguments[lane]);
        int group = lane / 4;
        int place = lane % 4;
        for (int i = 0; i < 4; ++i) {
            operands.a[group + i % 2 * 8][place + i / 2 * 4] = fromTf32(product->a[i]);
        }
        for (int i = 0; i < 2; ++i) {
            operands.b[place + i * 4][group] = fromTf32(product->b[i]);
        }
    }
}

void needAll(void** arguments, uint32_t lanes, const char* what) {
    if (lanes != ALL_LANES) {
        failThread(LAUNCH_FAILED, format("%s needs all 32 lanes, but only %#x are there", what, lanes),
            static_cast<Product*>(arguments[self->lane()])->place);
    }
}

// d += a b, summed in single precision from the first product to the last.
void multiply(void** arguments, const Operands& operands, int depth) {
    float d[ROWS][COLUMNS];
    for (int lane = 0; lane < WARP; ++lane) {
        for (int i = 0; i < 4; ++i) {
            d[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2] = static_cast<Product*>(arguments[lane])->d[i];
        }
    }
    for (int row = 0; row < ROWS; ++row) {
        for (int k = 0; k < depth; ++k) {
            for (int column = 0; column < COLUMNS; ++column) {
                d[row][column] += operands.a[row][k] * operands.b[k][column];
            }
        }
    }
    for (int lane = 0; lane < WARP; ++lane) {
        for (int i = 0; i < 4; ++i) {
            static_cast<Product*>(arguments[lane])->d[i] = d[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2];
        }
    }
}

template <Format FORMAT>
void multiplyLanes(void** arguments, uint32_t lanes) {
    needAll(arguments, lanes, "mma");
    Operands operands;
    if (FORMAT == TF32) {
        gatherTf32(arguments, operands);
    } else {
        gather16(arguments, FORMAT, operands);
    }
    multiply(arguments, operands, FORMAT == TF32 ? 8 : 16);
}

struct Load {
    unsigned* r;
    const uint16_t* row;
    Place place;
    bool transposed;
};

void loadLanes(void** arguments, uint32_t lanes) {
    if (lanes != ALL_LANES) {
        failThread(LAUNCH_FAILED, format("ldmatrix needs all 32 lanes, but only %#x are there", lanes),
            static_cast<Load*>(arguments[self->lane()])->place);
    }
    for (int lane = 0; lane < WARP; ++lane) {
        auto load = static_cast<Load*>(arguments[lane]);
        for (int matrix = 0; matrix < 4; ++matrix) {
            uint16_t pair[2];
            for (int i = 0; i < 2; ++i) {
                int row = load->transposed ? lane % 4 * 2 + i : lane / 4;
                int column = load->transposed ? lane / 4 : lane % 4 * 2 + i;
                pair[i] = static_cast<Load*>(arguments[matrix * 8 + row])->row[column];
            }
            memcpy(&load->r[matrix], pair, sizeof pair);
        }
    }
}

void needAligned(const void* p, const char* what, const Place& place) {
    if (reinterpret_cast<Address>(p) % VECTOR != 0) {
        failThread(MISALIGNED_ADDRESS, format("%s at an address that is not a multiple of 16: %p", what, p), place);
    }
}

void needShared(const void* p, const char* what, const Place& place) {
    if (!nearShared(reinterpret_cast<Address>(p))) {
        failThread(ILLEGAL_ADDRESS, format("%s at %s, which is not shared memory", what,
            describe(reinterpret_cast<Address>(p)).c_str()), place);
    }
}

}  // namespace

SIM_API void sim_mma(int kind, float* d, const unsigned* a, const unsigned* b, const char* file, int line) {
    Product product{d, a, b, {file, line}};
    Compute compute = kind == BF16 ? multiplyLanes<BF16> : kind == HALF ? multiplyLanes<HALF> : multiplyLanes<TF32>;
    meet(ALL_LANES, compute, &product, "mma", {file, line});
}

SIM_API void sim_ldmatrix(unsigned* r, const void* row, int transposed, const char* file, int line) {
    needShared(row, "ldmatrix", {file, line});
    needAligned(row, "ldmatrix", {file, line});
    noteShared(reinterpret_cast<Address>(row), VECTOR, Use::READ, __builtin_return_address(0));
    Load load{r, static_cast<const uint16_t*>(row), {file, line}, transposed != 0};
    meet(ALL_LANES, loadLanes, &load, "ldmatrix", {file, line});
}

SIM_API void sim_copy_async(void* to, const void* from, int valid, const char* file, int line) {
    needShared(to, "cp_async to", {file, line});
    needAligned(to, "cp_async to", {file, line});
    AsyncCopy copy{static_cast<char*>(to), {}};
    const void* caller = __builtin_return_address(0);
    if (valid) {
        needAligned(from, "cp_async from", {file, line});
        noteAccess(reinterpret_cast<Address>(from), VECTOR, Direction::READ, caller);
        memcpy(copy.bytes, from, VECTOR);
    }
    noteShared(reinterpret_cast<Address>(to), VECTOR, Use::ASYNC_BEGIN, caller);
    self->groups.back().push_back(copy);
}

SIM_API void sim_commit_async() {
    self->groups.emplace_back();
}

SIM_API void sim_wait_async(int remaining) {
    auto& groups = self->groups;
    while (static_cast<int>(groups.size()) - 1 > remaining) {
        for (const AsyncCopy& copy : groups.front()) {
            noteShared(reinterpret_cast<Address>(copy.to), VECTOR, Use::ASYNC_END, __builtin_return_address(0));
            memcpy(copy.to, copy.bytes, VECTOR);
        }
        groups.erase(groups.begin());
    }
}
