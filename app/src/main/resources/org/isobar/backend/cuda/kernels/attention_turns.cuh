// Blocks that own keys and share queries: what a block works on, and whose turn it is to add to a tile of dq.
#pragma once

#include "attention_tiles.cuh"

// Heads whose blocks run at the same time. With more, fewer blocks wait for each other; but q, dOut and the sums of dq
// of all of them should fit into the second-level cache. Measured on an H100 for heads of 48 and 128 channels.
constexpr int HEADS_TOGETHER = HEAD_DIM <= 48 ? 16 : HEAD_DIM <= 96 ? 8 : 4;

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
// turn it is. One thread of a block awaits the turn before the barrier after which all threads add. After the next
// barrier, one thread of another warp passes the turn on, so that no warp is held up by both. Its fence orders the
// additions of all threads before those of the next block.
__device__ __forceinline__ void pass_turn(int* turn) {
    fence_device();
    add_relaxed(turn, 1);
}

__device__ __forceinline__ void await_turn(const int* turn, int block) {
    while (load_acquire(turn) < block) {
    }
}
