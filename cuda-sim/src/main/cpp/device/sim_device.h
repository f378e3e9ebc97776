// CUDA C++ for g++: what the language has beyond C++ and NVRTC predefines, as far as kernels here use it. Read before a
// program. Variables in shared memory are compiled as thread-local, so that the runtime finds them.
#pragma once

#include "sim_runtime.h"
#include "sim_math.h"
#include "sim_vectors.h"

#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define __CUDA_ARCH__ SIM_ARCHITECTURE

#define __global__ __attribute__((sim_kernel, used, noinline))
#define __launch_bounds__(...) __attribute__((sim_launch_bounds((__VA_ARGS__))))  // an expression, not a word
#define __device__
#define __host__
#define __constant__ static const
#define __shared__ static thread_local
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __restrict__ __restrict
#define __grid_constant__

#define threadIdx (sim_thread_index())
#define blockIdx (sim_block_index())
#define blockDim (sim_block_size())
#define gridDim (sim_grid_size())
constexpr int warpSize = 32;

typedef unsigned long size_t;
typedef long ptrdiff_t;

// ---- barriers and fences ----

inline void __syncthreads(SIM_PLACE) { sim_barrier(0, file, line); }
inline int __syncthreads_count(int predicate, SIM_PLACE) { return sim_barrier(predicate, file, line); }
inline int __syncthreads_or(int predicate, SIM_PLACE) { return sim_barrier(predicate, file, line) != 0; }
inline int __syncthreads_and(int predicate, SIM_PLACE) { return sim_barrier(predicate, file, line) == sim_threads(); }
inline void __syncwarp(unsigned mask = 0xffffffffu, SIM_PLACE) { sim_warp_barrier(mask, file, line); }
inline void __threadfence() { sim_fence(); }
inline void __threadfence_block() { }
inline void __threadfence_system() { sim_fence(); }

// ---- shuffles and votes ----

template <typename T>
inline T sim_shuffled(unsigned mask, T value, int kind, int operand, int width, const char* file, int line) {
    static_assert(sizeof(T) <= sizeof(unsigned long long), "a shuffle moves up to 8 bytes");
    unsigned long long word = 0;
    __builtin_memcpy(&word, &value, sizeof value);
    word = sim_shuffle(mask, word, kind, operand, width, file, line);
    __builtin_memcpy(&value, &word, sizeof value);
    return value;
}

#define SIM_SHUFFLE(name, kind, operand) \
    template <typename T> inline T name(unsigned mask, T value, operand, int width = 32, SIM_PLACE) { \
        return sim_shuffled(mask, value, kind, static_cast<int>(other), width, file, line); \
    }
SIM_SHUFFLE(__shfl_sync, 0, int other)
SIM_SHUFFLE(__shfl_up_sync, 1, unsigned other)
SIM_SHUFFLE(__shfl_down_sync, 2, unsigned other)
SIM_SHUFFLE(__shfl_xor_sync, 3, int other)
#undef SIM_SHUFFLE

inline unsigned __ballot_sync(unsigned mask, int predicate, SIM_PLACE) {
    return static_cast<unsigned>(sim_vote(mask, predicate, file, line));
}

inline int __any_sync(unsigned mask, int predicate, SIM_PLACE) {
    return static_cast<unsigned>(sim_vote(mask, predicate, file, line)) != 0;
}

inline int __all_sync(unsigned mask, int predicate, SIM_PLACE) {
    unsigned long long vote = sim_vote(mask, predicate, file, line);
    return static_cast<unsigned>(vote) == static_cast<unsigned>(vote >> 32);
}

// ---- atomics: the fibers of a block take turns, so the plain operation is atomic once it is checked ----

#define SIM_UNSEEN __attribute__((noinline, no_sanitize("thread")))

template <typename T, typename Update> SIM_UNSEEN T sim_atomic(T* address, Update update) {
    sim_check_atomic(address, sizeof(T));
    T old = *address;
    *address = update(old);
    return old;
}

#define SIM_ATOMIC(name, T, result) \
    inline T name(T* address, T value) { return sim_atomic(address, [=](T old) -> T { return result; }); }
#define SIM_ATOMIC_INTEGERS(name, result) \
    SIM_ATOMIC(name, int, result) SIM_ATOMIC(name, unsigned, result) SIM_ATOMIC(name, unsigned long long, result)
SIM_ATOMIC_INTEGERS(atomicAdd, old + value)
SIM_ATOMIC(atomicAdd, float, old + value)
SIM_ATOMIC(atomicAdd, double, old + value)
SIM_ATOMIC_INTEGERS(atomicMax, old > value ? old : value)
SIM_ATOMIC_INTEGERS(atomicMin, old < value ? old : value)
SIM_ATOMIC_INTEGERS(atomicOr, old | value)
SIM_ATOMIC_INTEGERS(atomicAnd, old & value)
SIM_ATOMIC_INTEGERS(atomicXor, old ^ value)
SIM_ATOMIC(atomicSub, int, old - value)
SIM_ATOMIC(atomicSub, unsigned, old - value)
SIM_ATOMIC(atomicInc, unsigned, old >= value ? 0 : old + 1)
SIM_ATOMIC_INTEGERS(atomicExch, (static_cast<void>(old), value))
SIM_ATOMIC(atomicExch, float, (static_cast<void>(old), value))
#undef SIM_ATOMIC_INTEGERS
#undef SIM_ATOMIC

#define SIM_ATOMIC_CAS(T) \
    inline T atomicCAS(T* address, T compare, T value) { \
        return sim_atomic(address, [=](T old) -> T { return old == compare ? value : old; }); \
    }
SIM_ATOMIC_CAS(int)
SIM_ATOMIC_CAS(unsigned)
SIM_ATOMIC_CAS(unsigned long long)
#undef SIM_ATOMIC_CAS

// ---- the rest ----

template <typename T> inline T __ldg(const T* p) { return *p; }
template <typename T> inline T __ldcs(const T* p) { return *p; }
template <typename T> inline T __ldcg(const T* p) { return *p; }
template <typename T> inline void __stcs(T* p, T value) { *p = value; }
template <typename T> inline void __stcg(T* p, T value) { *p = value; }

inline void __trap(SIM_PLACE) { sim_trap("__trap", file, line); }
#define assert(condition) ((condition) ? static_cast<void>(0) : sim_trap("assert(" #condition ")", __FILE__, __LINE__))

// ---- how a kernel is called: its parameters from the addresses of their values ----

struct SimKernel {
    void (*call)(void** parameters);
    const size_t* sizes;
    int parameters;
    int mostThreads;
};

template <auto FUNCTION> struct SimEntry;

template <typename... P, void (*FUNCTION)(P...)> struct SimEntry<FUNCTION> {
    static constexpr size_t SIZES[sizeof...(P) + 1] = {sizeof(P)...};

    template <int... I> struct Numbers { };
    template <int N, int... I> struct Count : Count<N - 1, N - 1, I...> { };
    template <int... I> struct Count<0, I...> { using type = Numbers<I...>; };

    template <int... I>
    __attribute__((no_sanitize("thread"))) static void unpack([[maybe_unused]] void** parameters, Numbers<I...>) {
        FUNCTION(*static_cast<P*>(parameters[I])...);
    }

    __attribute__((no_sanitize("thread"))) static void call(void** parameters) {
        unpack(parameters, typename Count<sizeof...(P)>::type());
    }

    static constexpr SimKernel describe(int mostThreads = 1024, int = 0, int = 0) {
        return {&call, SIZES, static_cast<int>(sizeof...(P)), mostThreads};
    }
};
