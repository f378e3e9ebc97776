// Blocks that own keys and share queries: what a block works on, and whose turn it is to add to a tile of dq.
#pragma once

#include "attention_tiles.cuh"

constexpr int HEADS_TOGETHER = 4;

// Starts copying a tile (2, COLUMNS, D) of queries and dOut, and their statistics.
__device__ __forceinline__ void fetch_columns(T* tile, float2* columns, Tokens query, Tokens gradient,
    const float2* statistics, int first) {
    fetch<COLUMNS>(tile, query, first);
    fetch<COLUMNS>(tile + COLUMNS * HEAD_DIM, gradient, first);
    if (threadIdx.x < COLUMNS / 2) {
        cp_async_16(columns + 2 * threadIdx.x, statistics + first + 2 * threadIdx.x, true);
    }
    cp_async_commit();
}

// What a block works on.
struct Work {
    unsigned block;  // of ROWS keys
    unsigned head;
    unsigned sample;
    int turn;        // index of the counter of its head's first tile: with ORDERED
};

// With ORDERED, blocks take tickets when they start, and a ticket says what to work on: the blocks of keys of
// HEADS_TOGETHER heads, in ascending order, heads in turn. So a block waits only for blocks that have started.
__device__ __forceinline__ void take_ticket(Work* work, int* turns, int tiles) {
    if (threadIdx.x == 0) {
        int ticket = atomicAdd(turns, 1);
        int blocks = gridDim.x;
        int first = ticket / (HEADS_TOGETHER * blocks) * HEADS_TOGETHER;
        int together = min(HEADS_TOGETHER, static_cast<int>(gridDim.y * gridDim.z) - first);
        int i = ticket - first * blocks;
        int row = first + i % together;  // over (B, H)
        *work = {static_cast<unsigned>(i / together), row % gridDim.y, row / gridDim.y, 1 + row * tiles};
    }
    __syncthreads();
}

// Adds to a tile of dq are in the order of the blocks of keys: the tile's counter is the number of the block whose
// turn it is. The first thread passes on the turn of the tile before, to which all threads have added before the last
// barrier, and waits for its own. The fence orders these additions before the next block's, and the previous block's
// before those of this block that follow the next barrier.
__device__ __forceinline__ void next_turn(int* turn, bool pass, int block) {
    int passed = load_relaxed(turn);
    fence_device();
    if (pass) {
        add_relaxed(turn - 1, 1);
    }
    while (passed < block) {
        passed = load_acquire(turn);
    }
}
