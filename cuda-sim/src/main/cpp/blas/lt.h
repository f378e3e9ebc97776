// The types of cuBLASLt's interface, as far as products of dense matrices need them. Values are those of cublasLt.h.
#pragma once

#include <cstddef>
#include <cstdint>

#define BLAS_API extern "C" __attribute__((visibility("default")))

namespace blas {

enum Status {
    SUCCESS = 0,
    NOT_INITIALIZED = 1,
    ALLOC_FAILED = 3,
    INVALID_VALUE = 7,
    ARCH_MISMATCH = 8,
    EXECUTION_FAILED = 13,
    INTERNAL_ERROR = 14,
    NOT_SUPPORTED = 15
};

enum Type : int32_t { F32 = 0, F16 = 2, BF16 = 14, SAME_AS_RESULT = -1 };
enum Compute : int32_t { COMPUTE_32F = 68, COMPUTE_32F_PEDANTIC = 69, COMPUTE_32F_FAST_TF32 = 77 };
enum Operation : int32_t { OP_N = 0, OP_T = 1 };
enum Order : int32_t { COLUMNS = 0, ROWS = 1 };
enum Epilogue : uint32_t { PLAIN = 1, BIAS = 4, BIAS_GRADIENT_B = 512 };
enum ReductionScheme : uint32_t { IN_COMPUTE_TYPE = 2, ANY_SCHEME = 7 };

// cublasLtMatmulDescOpaque_t
struct MatmulDesc {
    int32_t compute;
    int32_t scaleType;
    int32_t pointerMode;
    int32_t transA;
    int32_t transB;
    int32_t transC;
    int32_t fillMode;
    uint32_t epilogue;
    const void* bias;
    int32_t biasType;
};

// cublasLtMatrixLayoutOpaque_t
struct Layout {
    int32_t type;
    int32_t order;
    uint64_t rows;
    uint64_t cols;
    int64_t ld;
    int32_t batches;
    bool operator==(const Layout&) const = default;
};

// cublasLtMatmulPreferenceOpaque_t
struct Preference {
    uint32_t searchMode;
    uint32_t reductionSchemes;
    uint64_t mostWorkspace;
    uint32_t alignments[4];  // of A, B, C and D, bytes
};

// What an algorithm does, besides the product.
enum Behaviour : uint64_t {
    RIGHT,     // nothing
    SLOW,      // takes long
    SPLIT,     // sums in two parts: other bits, equally right
    INEXACT,   // one element is wrong
    UNEQUAL,   // other bits in every second call
    FAILING,   // its calls return an error
    NO_SUMS,   // does not exist for products with the epilogue of a bias gradient
    REFUSED    // cublasLtMatmulAlgoCheck refuses it
};

// cublasLtMatmulAlgo_t: what the heuristic was told and what it needs. The mark tells it from uninitialized memory.
struct Algo {
    uint64_t mark;
    uint64_t workspace;      // bytes
    uint32_t alignments[4];
    Behaviour behaviour;
    uint64_t number;         // among those of its heuristic
    uint64_t rest[2];
};
constexpr uint64_t ALGO_MARK = 0x69736f6261724c74;
static_assert(sizeof(Algo) == 64);

// cublasLtMatmulHeuristicResult_t
struct HeuristicResult {
    Algo algo;
    size_t workspace;
    int32_t state;
    float waves;
    int32_t reserved[4];
};
static_assert(sizeof(HeuristicResult) == 96);

}  // namespace blas
