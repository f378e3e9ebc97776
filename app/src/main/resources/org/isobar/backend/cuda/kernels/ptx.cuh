// All inline assembly, and everything else that depends on the compiler. What kernels use and the CUDA C++ language
// does not have is defined once, here; the simulated machine replaces this file by its own version. Fragments of
// matrices have the layout that the PTX ISA describes for mma.sync.
#pragma once

// A pointer `name` to the dynamic shared memory of the block, aligned to 128 bytes.
#define DYNAMIC_SHARED(type, name) \
    extern __shared__ __align__(128) unsigned char dynamic_shared_[]; \
    type* const name = reinterpret_cast<type*>(dynamic_shared_)

// The two types of 16 bits, as their bits.
struct half_t { unsigned short bits; };  // IEEE 754 binary16
struct bf16_t { unsigned short bits; };  // the upper half of a binary32

struct BlockIndex { int x, y, z; };

// The index of the block, read again at each call: the compiler need not keep what follows from it in registers.
__device__ __forceinline__ BlockIndex read_block_index() {
    BlockIndex block;
    asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block.x));
    asm volatile("mov.u32 %0, %%ctaid.y;" : "=r"(block.y));
    asm volatile("mov.u32 %0, %%ctaid.z;" : "=r"(block.z));
    return block;
}

// ---- conversions, to nearest, ties to even ----

__device__ __forceinline__ float half_to_float(half_t x) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
}

__device__ __forceinline__ half_t float_to_half(float x) {
    half_t y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
}

__device__ __forceinline__ float bf16_to_float(bf16_t x) {
    return __uint_as_float(static_cast<unsigned>(x.bits) << 16);
}

__device__ __forceinline__ bf16_t float_to_bf16(float x) {
    bf16_t y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
}

// Two numbers in one word, the first in its lower half.
__device__ __forceinline__ unsigned pack_half2(float low, float high) {
    unsigned y;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
    return y;
}

__device__ __forceinline__ unsigned pack_bf162(float low, float high) {
    unsigned y;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
    return y;
}

// A single-precision number rounded to TF32 (10 bits of fraction; to nearest, ties away from zero), as its bits.
__device__ __forceinline__ unsigned float_to_tf32(float x) {
    unsigned y;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
    return y;
}

// ---- functions ----

// 2^x to about 2 ulp; subnormal results are flushed to zero.
__device__ __forceinline__ float exp2_fast(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// 1 / x to 1 ulp, without the branch of exact division for the ends of the range; subnormals count as zero.
__device__ __forceinline__ float reciprocal_fast(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// ---- matrix products of a warp: d += a b, fragments in registers ----

// (16, 16) x (16, 8), bf16; a row-major, b column-major.
__device__ __forceinline__ void mma_16816_bf16(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// (16, 16) x (16, 8), fp16.
__device__ __forceinline__ void mma_16816_half(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// (16, 8) x (8, 8), TF32.
__device__ __forceinline__ void mma_1688_tf32(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// ---- shared memory to fragments: four 8 x 8 matrices of 16-bit elements; each lane gives the address of one row ----

__device__ __forceinline__ void ldmatrix_x4(unsigned (&r)[4], const void* row) {
    unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}

__device__ __forceinline__ void ldmatrix_x4_trans(unsigned (&r)[4], const void* row) {
    unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
        : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}

// ---- asynchronous copies of 16 bytes from global to shared memory ----

// Writes zeros if not `valid`, and does not read `global`.
__device__ __forceinline__ void cp_async_16(void* shared, const void* global, bool valid) {
    unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(shared));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
        :: "r"(address), "l"(global), "r"(valid ? 16 : 0) : "memory");
}

// Closes a group of copies.
__device__ __forceinline__ void cp_async_commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

// Waits until all but the latest N groups of this thread are complete; other threads see them after a barrier.
template <int N>
__device__ __forceinline__ void cp_async_wait() {
    asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory");
}

// ---- stores to global memory ----

// Four words in one instruction.
__device__ __forceinline__ void store_global_16(void* to, unsigned x, unsigned y, unsigned z, unsigned w) {
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" :: "l"(to), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
}

// ---- sums over several blocks, and their order ----

// Adds two numbers to neighbours in global memory, each atomically.
__device__ __forceinline__ void add_pair(float* to, float x, float y) {
#if __CUDA_ARCH__ >= 900
    asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" :: "l"(to), "f"(x), "f"(y) : "memory");
#else
    atomicAdd(to, x);
    atomicAdd(to + 1, y);
#endif
}

// The value of a counter that other blocks add to, in a loop that waits for it. What they did before a fence and the
// addition of this value has happened before what follows.
__device__ __forceinline__ int load_acquire(const int* counter) {
    int x;
    asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(x) : "l"(counter) : "memory");
    return x;
}

__device__ __forceinline__ void add_relaxed(int* counter, int x) {
    asm volatile("red.relaxed.gpu.global.add.s32 [%0], %1;" :: "l"(counter), "r"(x) : "memory");
}

// Orders the accesses of this thread, and those of others that it has observed, among blocks.
__device__ __forceinline__ void fence_device() {
    asm volatile("fence.acq_rel.gpu;" ::: "memory");
}
