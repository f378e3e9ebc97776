#include "product.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <vector>

#include "numbers.h"
#include "sim.h"

// Compiled for several vector widths; the best is chosen when the library is loaded. The sums do not depend on the
// width, because each element of the result has its own lane.
#ifdef __x86_64__
#define ALL_WIDTHS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define ALL_WIDTHS
#endif

namespace blas {
namespace {

typedef float Lanes __attribute__((vector_size(64)));

constexpr size_t LANES = sizeof(Lanes) / sizeof(float);
constexpr size_t TILE_M = 2 * LANES;
constexpr size_t TILE_N = 4;

float load(const Matrix& matrix, size_t i, size_t j) {
    size_t at = i * matrix.rowStep + j * matrix.colStep;
    switch (matrix.type) {
        case F16: return sim::fromHalf(static_cast<const uint16_t*>(matrix.data)[at]);
        case BF16: return sim::fromBf16(static_cast<const uint16_t*>(matrix.data)[at]);
        default: return static_cast<const float*>(matrix.data)[at];
    }
}

void store(const Matrix& matrix, size_t i, size_t j, float x) {
    size_t at = i * matrix.rowStep + j * matrix.colStep;
    switch (matrix.type) {
        case F16: static_cast<uint16_t*>(matrix.data)[at] = toHalf(x); break;
        case BF16: static_cast<uint16_t*>(matrix.data)[at] = toBf16(x); break;
        default: static_cast<float*>(matrix.data)[at] = x;
    }
}

// Rows first..first + width of a matrix as (k, width) floats; zeros where there are none.
void pack(float* packed, const Matrix& matrix, size_t first, size_t width, size_t rows, size_t k, Rounding rounding) {
    for (size_t x = 0; x < width; ++x) {
        for (size_t p = 0; p < k; ++p) {
            float value = first + x < rows ? load(matrix, first + x, p) : 0.0f;
            packed[p * width + x] = rounding == Rounding::TF32 ? roundedToTf32(value) : value;
        }
    }
}

// sums (TILE_N, TILE_M) = the products of rows first..end of a (k, TILE_M) and b (k, TILE_N).
ALL_WIDTHS void tile(float* sums, const float* a, const float* b, size_t first, size_t end) {
    Lanes sum[TILE_N][2] = {};
    for (size_t p = first; p < end; ++p) {
        Lanes low;
        Lanes high;
        memcpy(&low, a + p * TILE_M, sizeof low);
        memcpy(&high, a + p * TILE_M + LANES, sizeof high);
        for (size_t j = 0; j < TILE_N; ++j) {
            sum[j][0] += low * b[p * TILE_N + j];
            sum[j][1] += high * b[p * TILE_N + j];
        }
    }
    memcpy(sums, sum, sizeof sum);
}

Matrix gradientOf(const Product& product) {
    return {product.gradient, product.d.type, 1, 0};
}

float rounded(float x, Type type) {
    switch (type) {
        case F16: return sim::fromHalf(toHalf(x));
        case BF16: return sim::fromBf16(toBf16(x));
        default: return x;
    }
}

// Whether what is stored is rounded before c or the bias is added, as by kernels of cuBLASLt 13.1 on an H100: there,
// 16-bit results have been rounded before c was added where the rows of all matrices are aligned to 16 bytes, and bf16
// results before a bias was added where they are not even aligned to 4.
bool roundsFirst(const Product& product) {
    auto aligned = [&](size_t elements) {
        return std::max(product.a.rowStep, product.a.colStep) % elements == 0
            && std::max(product.b.rowStep, product.b.colStep) % elements == 0
            && std::max(product.d.rowStep, product.d.colStep) % elements == 0;
    };
    return product.beta != 0 ? aligned(8) : product.d.type == BF16 && !aligned(2);
}

// The epilogue: alpha, beta, bias, and rounding to the result's type.
void finish(const Product& product, const float* sums, size_t firstRow, size_t firstCol) {
    Matrix bias = {const_cast<void*>(product.bias), product.d.type, 1, 0};
    bool first = roundsFirst(product);
    for (size_t j = 0; j < std::min(TILE_N, product.n - firstCol); ++j) {
        for (size_t i = 0; i < std::min(TILE_M, product.m - firstRow); ++i) {
            float value = product.alpha * sums[j * TILE_M + i];
            value = first ? rounded(value, product.d.type) : value;
            if (product.beta != 0) {
                value += product.beta * load(product.c, firstRow + i, firstCol + j);
            }
            if (product.bias != nullptr) {
                value += load(bias, firstRow + i, 0);
            }
            store(product.d, firstRow + i, firstCol + j, value);
        }
    }
}

// The sum of a column of b over k, which its tile (k, TILE_N) holds.
float sumOfColumn(const Product& product, const float* b) {
    float sum = 0;
    for (size_t p = 0; p < product.k; ++p) {
        sum += b[p * TILE_N];
    }
    return sum;
}

// What a bad algorithm does to a right result.
void spoil(const Product& product) {
    static std::atomic<int> calls = 0;
    constexpr double SLOW_MILLISECONDS = 1000;
    if (product.behaviour == SLOW) {
        sim_spend(SLOW_MILLISECONDS);
    } else if (product.behaviour == INEXACT && product.gradient != nullptr) {
        Matrix gradient = gradientOf(product);
        store(gradient, product.n - 1, 0, load(gradient, product.n - 1, 0) + 100);
    } else if (product.behaviour == INEXACT) {
        store(product.d, product.m - 1, product.n - 1,
            load(product.d, product.m - 1, product.n - 1) + 100);
    } else if (product.behaviour == UNEQUAL && ++calls % 2 == 0) {
        static_cast<char*>(product.d.data)[0] ^= 1;
    }
}

}  // namespace

size_t bytesOf(int32_t type) {
    return type == F32 ? 4 : type == F16 || type == BF16 ? 2 : 0;
}

const char* nameOf(int32_t type) {
    return type == F32 ? "fp32" : type == F16 ? "fp16" : type == BF16 ? "bf16" : "of a type that is not simulated";
}

void multiply(const Product& product) {
    size_t tiles = (product.n + TILE_N - 1) / TILE_N;
    Matrix columns = {product.b.data, product.b.type, product.b.colStep, product.b.rowStep};
    std::vector<float> a(product.k * TILE_M);
    std::vector<float> b(tiles * product.k * TILE_N);
    for (size_t t = 0; t < tiles; ++t) {
        pack(&b[t * product.k * TILE_N], columns, t * TILE_N, TILE_N, product.n, product.k, product.operands);
    }
    float sums[TILE_M * TILE_N];
    float others[TILE_M * TILE_N];
    for (size_t row = 0; row < product.m; row += TILE_M) {
        pack(a.data(), product.a, row, TILE_M, product.m, product.k, product.operands);
        for (size_t t = 0; t < tiles; ++t) {
            const float* columnsOfTile = &b[t * product.k * TILE_N];
            size_t half = product.behaviour == SPLIT ? product.k / 2 : 0;
            tile(sums, a.data(), columnsOfTile, half, product.k);
            if (half != 0) {
                tile(others, a.data(), columnsOfTile, 0, half);
                std::transform(sums, sums + TILE_M * TILE_N, others, sums, std::plus<>());
            }
            finish(product, sums, row, t * TILE_N);
        }
    }
    for (size_t j = 0; product.gradient != nullptr && j < product.n; ++j) {
        store(gradientOf(product), j, 0, sumOfColumn(product, &b[j / TILE_N * product.k * TILE_N + j % TILE_N]));
    }
    spoil(product);
}

}  // namespace blas
