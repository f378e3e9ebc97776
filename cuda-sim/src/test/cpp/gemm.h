// A product by cuBLASLt, with all settings that a test may set to wrong values. Matrices are column-major.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "machine.h"

namespace test {

enum Type { F32 = 0, F16 = 2, BF16 = 14 };
enum Compute { IN_FP32 = 68, IN_TF32 = 77 };
enum Operation { AS_IS = 0, TRANSPOSED = 1 };

struct Gemm {
    size_t m = 5;
    size_t n = 7;
    size_t k = 3;
    Type operands = F32;
    Type result = F32;
    Compute compute = IN_FP32;
    Operation opA = AS_IS;
    Operation opB = AS_IS;
    size_t gap = 0;                // elements between the columns of each matrix
    int64_t lessOfLd = 0;          // taken off A's leading dimension
    float alpha = 1;
    float beta = 0;
    bool bias = false;
    bool unusedBias = false;       // its address without its epilogue
    bool gradient = false;         // of a bias: the sums of B over k, instead of a bias
    int biasType = -1;             // of the bias or of its gradient
    size_t offsetBias = 0;         // elements by which it is moved off its alignment
    size_t shortGradient = 0;      // elements by which the memory of the gradient is too small
    uint64_t mostWorkspace = 0;    // workspace limit of the heuristic, bytes
    uint64_t workspaceMissing = 0; // bytes by which the call's workspace is too small
    size_t workspaceOffset = 0;
    size_t offsetA = 0;            // elements by which A is moved off its alignment
    size_t shortA = 0;             // elements by which A's memory is too small
    bool uninitialized = false;    // B
    bool resultOverA = false;
    bool gradientOverD = false;
};

// Elements of a matrix, before it is narrowed to its type.
std::vector<float> elements(size_t count, int seed);

// The bits of a number rounded to a type of 16 bits.
uint16_t narrowBits(float x, Type type);

// A number rounded to a type and converted back.
float narrowed(float x, Type type);

// What a product computes, widened.
struct Results {
    std::vector<float> d;         // column by column without the gaps
    std::vector<float> gradient;  // of a bias; empty without one
};

// Runs the product and waits. A refused call ends the test.
Results results(const Gemm& gemm);

// D alone.
std::vector<float> multiply(const Gemm& gemm);

// The expected D, by three loops in double precision.
std::vector<double> reference(const Gemm& gemm);

// The expected gradient of a bias.
std::vector<double> gradientReference(const Gemm& gemm);

}  // namespace test
