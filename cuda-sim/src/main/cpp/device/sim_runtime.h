// Functions of the simulated machine that kernels call; twin of driver/kernel_calls.cpp and driver/matrix_calls.cpp.
#pragma once

struct dim3 {
    unsigned x, y, z;
};
using uint3 = dim3;

extern "C" {
__attribute__((const)) dim3 sim_thread_index();
__attribute__((const)) dim3 sim_block_index();
__attribute__((const)) dim3 sim_block_size();
__attribute__((const)) dim3 sim_grid_size();
__attribute__((const)) void* sim_dynamic_shared();
int sim_threads();
int sim_barrier(int predicate, const char* file, int line);
void sim_warp_barrier(unsigned mask, const char* file, int line);
unsigned long long sim_shuffle(unsigned mask, unsigned long long value, int kind, int operand, int width,
    const char* file, int line);
unsigned long long sim_vote(unsigned mask, int predicate, const char* file, int line);
void sim_fence();
void sim_poll(const char* file, int line);
void sim_check_atomic(void* address, unsigned long long bytes);
__attribute__((noreturn)) void sim_trap(const char* what, const char* file, int line);
void sim_mma(int kind, float* d, const unsigned* a, const unsigned* b, const char* file, int line);
void sim_ldmatrix(unsigned* r, const void* row, int transposed, const char* file, int line);
void sim_copy_async(void* to, const void* from, int valid, const char* file, int line);
void sim_commit_async();
void sim_wait_async(int remaining);
}

// The source location of a call: the last two parameters of the functions that kernels call.
#define SIM_PLACE const char* file = __builtin_FILE(), int line = __builtin_LINE()
