#include "gemm.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
int cublasLtCreate(void**);
int cublasLtMatmulDescCreate(void**, int, int);
int cublasLtMatmulDescSetAttribute(void*, int, const void*, size_t);
int cublasLtMatrixLayoutCreate(void**, int, uint64_t, uint64_t, int64_t);
int cublasLtMatmulPreferenceCreate(void**);
int cublasLtMatmulPreferenceSetAttribute(void*, int, const void*, size_t);
int cublasLtMatmulAlgoGetHeuristic(void*, void*, void*, void*, void*, void*, void*, int, void*, int*);
int cublasLtMatmul(void*, void*, const void*, const void*, void*, const void*, void*, const void*, const void*, void*,
    void*, void*, const void*, void*, size_t, void*);
const char* cublasLtGetStatusString(int);
}

namespace test {
namespace {

// Attributes, as cublasLt.h numbers them.
enum { TRANSA = 3, TRANSB = 4, EPILOGUE = 7, BIAS_POINTER = 8, BIAS_DATA_TYPE = 26 };
enum { MAX_WORKSPACE_BYTES = 1, MIN_ALIGNMENT_A_BYTES = 5 };
constexpr uint32_t BIAS = 4;
constexpr uint32_t BGRADB = 512;
constexpr unsigned char UNTOUCHED = 0x5a;

struct HeuristicResult {
    uint64_t algo[8];
    size_t workspace;
    int32_t state;
    float waves;
    int32_t reserved[4];
};

void needBlas(int status, const char* call) {
    if (status != 0) {
        fprintf(stderr, "%s: %d %s\n", call, status, cublasLtGetStatusString(status));
        exit(REFUSED);
    }
}

size_t bytesOf(Type type) {
    return type == F32 ? 4 : 2;
}

float widen(uint16_t bits, Type type) {
    if (type == F16) {
        _Float16 half;
        memcpy(&half, &bits, sizeof half);
        return static_cast<float>(half);
    }
    uint32_t wide = static_cast<uint32_t>(bits) << 16;
    float x;
    memcpy(&x, &wide, sizeof x);
    return x;
}

// The bytes of a matrix of columns, with gaps.
std::vector<char> laidOut(const std::vector<float>& values, size_t rows, size_t cols, size_t ld, Type type) {
    std::vector<char> bytes(((cols - 1) * ld + rows) * bytesOf(type), static_cast<char>(UNTOUCHED));
    for (size_t j = 0; j < cols; ++j) {
        for (size_t i = 0; i < rows; ++i) {
            char* to = bytes.data() + (j * ld + i) * bytesOf(type);
            uint16_t narrow = narrowBits(values[j * rows + i], type);
            memcpy(to, type == F32 ? static_cast<const void*>(&values[j * rows + i]) : &narrow, bytesOf(type));
        }
    }
    return bytes;
}

struct Stored {
    size_t rows;
    size_t cols;
};

Stored storedA(const Gemm& g) { return g.opA == AS_IS ? Stored{g.m, g.k} : Stored{g.k, g.m}; }
Stored storedB(const Gemm& g) { return g.opB == AS_IS ? Stored{g.k, g.n} : Stored{g.n, g.k}; }

std::vector<char> bytesOfMatrix(const Gemm& g, Stored shape, int seed, Type type) {
    return laidOut(elements(shape.rows * shape.cols, seed), shape.rows, shape.cols, shape.rows + g.gap, type);
}

void* layout(Type type, size_t rows, size_t cols, int64_t ld) {
    void* made = nullptr;
    needBlas(cublasLtMatrixLayoutCreate(&made, type, rows, cols, ld), "cublasLtMatrixLayoutCreate");
    return made;
}

void* layoutOf(const Gemm& g, Stored shape, Type type, int64_t less = 0) {
    return layout(type, shape.rows, shape.cols, static_cast<int64_t>(shape.rows + g.gap) - less);
}

template <typename V>
void set(void* desc, int attribute, V value) {
    needBlas(cublasLtMatmulDescSetAttribute(desc, attribute, &value, sizeof value), "cublasLtMatmulDescSetAttribute");
}

void* descriptor(const Gemm& g) {
    void* desc = nullptr;
    needBlas(cublasLtMatmulDescCreate(&desc, g.compute, F32), "cublasLtMatmulDescCreate");
    set(desc, TRANSA, static_cast<int32_t>(g.opA));
    set(desc, TRANSB, static_cast<int32_t>(g.opB));
    if (g.bias) {
        set(desc, EPILOGUE, BIAS);
        set(desc, BIAS_DATA_TYPE, static_cast<int32_t>(g.biasType));
    }
    if (g.bias || g.unusedBias) {
        std::vector<char> bias = bytesOfMatrix({}, {g.m, 1}, 4, g.result);
        size_t offset = g.offsetBias * bytesOf(g.result);
        bias.insert(bias.begin(), offset, 0);
        set(desc, BIAS_POINTER, upload(bias) + offset);
    }
    return desc;
}

// Makes the product sum B over k; returns where the sums are written.
Address addGradient(const Gemm& g, void* desc, Address dataD) {
    size_t offset = g.offsetBias * bytesOf(g.result);
    size_t bytes = (g.n - g.shortGradient) * bytesOf(g.result);
    Address gradient = g.gradientOverD ? dataD : allocate(bytes + offset) + offset;
    set(desc, EPILOGUE, BGRADB);
    set(desc, BIAS_DATA_TYPE, static_cast<int32_t>(g.biasType));
    set(desc, BIAS_POINTER, gradient);
    return gradient;
}

void* preference(const Gemm& g) {
    void* made = nullptr;
    needBlas(cublasLtMatmulPreferenceCreate(&made), "cublasLtMatmulPreferenceCreate");
    auto setTo = [&](int attribute, const void* value, size_t bytes) {
        needBlas(cublasLtMatmulPreferenceSetAttribute(made, attribute, value, bytes), "SetAttribute");
    };
    setTo(MAX_WORKSPACE_BYTES, &g.mostWorkspace, sizeof g.mostWorkspace);
    uint32_t alignment = 16;
    for (int matrix = 0; matrix < 4; ++matrix) {
        setTo(MIN_ALIGNMENT_A_BYTES + matrix, &alignment, sizeof alignment);
    }
    return made;
}

Address uploadA(const Gemm& g) {
    std::vector<char> bytes = bytesOfMatrix(g, storedA(g), 1, g.operands);
    bytes.resize(bytes.size() - g.shortA * bytesOf(g.operands));
    bytes.insert(bytes.begin(), g.offsetA * bytesOf(g.operands), 0);
    return upload(bytes) + g.offsetA * bytesOf(g.operands);
}

Address uploadB(const Gemm& g) {
    std::vector<char> bytes = bytesOfMatrix(g, storedB(g), 2, g.operands);
    return g.uninitialized ? allocate(bytes.size()) : upload(bytes);
}

// op(B) as the product reads it, column by column.
std::vector<double> operandB(const Gemm& g) {
    std::vector<float> stored = elements(g.k * g.n, 2);
    std::vector<double> b(g.k * g.n);
    for (size_t j = 0; j < g.n; ++j) {
        for (size_t p = 0; p < g.k; ++p) {
            b[j * g.k + p] = narrowed(stored[g.opB == AS_IS ? j * g.k + p : p * g.n + j], g.operands);
        }
    }
    return b;
}

float element(const char* from, Type type) {
    float x;
    uint16_t narrow;
    if (type == F32) {
        memcpy(&x, from, sizeof x);
        return x;
    }
    memcpy(&narrow, from, sizeof narrow);
    return widen(narrow, type);
}

// D, widened, from the downloaded bytes. Checks that the gaps are unchanged.
std::vector<float> unpacked(const Gemm& g, const std::vector<char>& bytes) {
    std::vector<float> values(g.m * g.n);
    size_t ld = g.m + g.gap;
    for (size_t j = 0; j < g.n; ++j) {
        for (size_t i = 0; i < g.m; ++i) {
            values[j * g.m + i] = element(bytes.data() + (j * ld + i) * bytesOf(g.result), g.result);
        }
        auto gap = bytes.begin() + static_cast<ptrdiff_t>((j * ld + g.m) * bytesOf(g.result));
        auto next = j + 1 < g.n ? gap + static_cast<ptrdiff_t>(g.gap * bytesOf(g.result)) : gap;
        check(std::all_of(gap, next, [](char byte) { return byte == static_cast<char>(UNTOUCHED); }),
            "the gaps between columns are untouched");
    }
    return values;
}

}  // namespace

std::vector<float> elements(size_t count, int seed) {
    std::vector<float> values(count);
    for (size_t i = 0; i < count; ++i) {
        values[i] = std::sin(0.7f * static_cast<float>(i % 1009) + 1.3f * static_cast<float>(seed));
    }
    return values;
}

uint16_t narrowBits(float x, Type type) {
    if (type == F16) {
        _Float16 half = static_cast<_Float16>(x);
        uint16_t bits;
        memcpy(&bits, &half, sizeof bits);
        return bits;
    }
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float narrowed(float x, Type type) {
    return type == F32 ? x : widen(narrowBits(x, type), type);
}

std::vector<float> multiply(const Gemm& g) {
    return results(g).d;
}

Results results(const Gemm& g) {
    void* handle = nullptr;
    needBlas(cublasLtCreate(&handle), "cublasLtCreate");
    void* desc = descriptor(g);
    void* a = layoutOf(g, storedA(g), g.operands, g.lessOfLd);
    void* b = layoutOf(g, storedB(g), g.operands);
    void* d = layoutOf(g, {g.m, g.n}, g.result);
    Address dataA = uploadA(g);
    Address dataB = uploadB(g);
    std::vector<char> before = bytesOfMatrix(g, {g.m, g.n}, 3, g.result);
    Address dataD = g.resultOverA ? dataA : upload(before);
    Address gradient = g.gradient ? addGradient(g, desc, dataD) : 0;
    HeuristicResult found{};
    int count = 0;
    needBlas(cublasLtMatmulAlgoGetHeuristic(handle, desc, a, b, d, d, preference(g), 1, &found, &count),
        "cublasLtMatmulAlgoGetHeuristic");
    check(count == 1, "there is an algorithm");
    size_t bytes = found.workspace - g.workspaceMissing;
    Address workspace = found.workspace == 0 ? 0 : allocate(bytes + g.workspaceOffset) + g.workspaceOffset;
    auto pointer = [](Address address) { return reinterpret_cast<void*>(address); };
    needBlas(cublasLtMatmul(handle, desc, &g.alpha, pointer(dataA), a, pointer(dataB), b, &g.beta, pointer(dataD), d,
        pointer(dataD), d, found.algo, pointer(workspace), bytes, nullptr), "cublasLtMatmul");
    Results results = {unpacked(g, download<char>(dataD, before.size())), {}};
    std::vector<char> sums = g.gradient ? download<char>(gradient, g.n * bytesOf(g.result)) : std::vector<char>();
    for (size_t at = 0; at < sums.size(); at += bytesOf(g.result)) {
        results.gradient.push_back(element(sums.data() + at, g.result));
    }
    return results;
}

std::vector<double> gradientReference(const Gemm& g) {
    std::vector<double> b = operandB(g);
    std::vector<double> sums(g.n);
    for (size_t i = 0; i < b.size(); ++i) {
        sums[i / g.k] += b[i];
    }
    return sums;
}

std::vector<double> reference(const Gemm& g) {
    std::vector<float> a = elements(g.m * g.k, 1);
    std::vector<double> b = operandB(g);
    std::vector<float> c = elements(g.m * g.n, 3);
    std::vector<float> bias = elements(g.m, 4);
    std::vector<double> d(g.m * g.n);
    for (size_t j = 0; j < g.n; ++j) {
        for (size_t i = 0; i < g.m; ++i) {
            double sum = 0;
            for (size_t p = 0; p < g.k; ++p) {
                double x = narrowed(a[g.opA == AS_IS ? p * g.m + i : i * g.k + p], g.operands);
                sum += x * b[j * g.k + p];
            }
            d[j * g.m + i] = g.alpha * sum + g.beta * narrowed(c[j * g.m + i], g.result)
                + (g.bias ? narrowed(bias[i], g.result) : 0);
        }
    }
    return d;
}

}  // namespace test
