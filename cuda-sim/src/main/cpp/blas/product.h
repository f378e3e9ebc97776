// The arithmetic of a product: d = alpha a b + beta c + bias, and the gradient of a bias, the sums of b over k.
#pragma once

#include <cstddef>

#include "lt.h"

namespace blas {

// Element (i, j) lies at i * rowStep + j * colStep, counted in elements.
struct Matrix {
    void* data;
    Type type;
    size_t rowStep;
    size_t colStep;
};

enum class Rounding { NONE, TF32 };

struct Product {
    size_t m;
    size_t n;
    size_t k;
    Matrix a;          // (m, k), as its operation leaves it
    Matrix b;          // (k, n)
    Matrix c;          // (m, n); not read where beta is 0
    Matrix d;          // (m, n)
    const void* bias;  // (m), of d's type; null: none
    void* gradient;    // (n), of d's type; null: none
    float alpha;
    float beta;
    Rounding operands;
    Behaviour behaviour;
};

// Bytes of an element; 0 for a type that is not simulated.
size_t bytesOf(int32_t type);

const char* nameOf(int32_t type);

// Each sum is taken in single precision, in the order of k.
void multiply(const Product& product);

}  // namespace blas
