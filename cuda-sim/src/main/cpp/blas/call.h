// Checks of a cublasLtMatmul call: refuses what the real library refuses, with a reason.
#pragma once

#include <string>

#include "lt.h"
#include "product.h"
#include "sim.h"

namespace blas {

// The description of a product, without its memory.
struct Problem {
    const MatmulDesc* desc;
    const Layout* a;
    const Layout* b;
    const Layout* c;
    const Layout* d;
};

// The memory of a call.
struct Buffers {
    const float* alpha;
    const float* beta;
    const void* a;
    const void* b;
    const void* c;
    void* d;
    void* workspace;
    size_t workspaceBytes;
};

// "cublasLtMatmul 32 x 48 x 192 bf16": m, n, k and the operands' type.
std::string nameOf(const Problem& problem);

// Checks that such a product is supported.
Status check(const Problem& problem);

// Checks that such an algorithm exists.
Status check(const Problem& problem, const Algo& algo);

// Checks that it can run on these buffers with this algorithm (null: any that needs no workspace).
Status check(const Problem& problem, const Buffers& buffers, const Algo* algo);

// The product of a checked call.
Product product(const Problem& problem, const Buffers& buffers, const Algo* algo);

// The memory range of the bias, or of its gradient, of a problem with such an epilogue.
SimRange biasRange(const Problem& problem);

// The memory range of a matrix with this layout.
SimRange range(const Layout& layout, const void* data);

}  // namespace blas
