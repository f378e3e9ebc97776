#include "call.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "status.h"

namespace blas {
namespace {

constexpr uintptr_t WORKSPACE_ALIGNMENT = 256;
constexpr uintptr_t BIAS_ALIGNMENT = 16;

size_t rowsAfter(const Layout& layout, int32_t operation) {
    return operation == OP_N ? layout.rows : layout.cols;
}

size_t colsAfter(const Layout& layout, int32_t operation) {
    return operation == OP_N ? layout.cols : layout.rows;
}

Status refuse(const Problem& problem, Status status, const std::string& why) {
    return refuse(status, nameOf(problem) + ": " + why);
}

bool tf32(int32_t compute) {
    const char* override = getenv("NVIDIA_TF32_OVERRIDE");
    return compute == COMPUTE_32F_FAST_TF32 && (override == nullptr || strcmp(override, "0") != 0);
}

// What the address of the bias points to.
const char* vectorOf(const Problem& problem) {
    return problem.desc->epilogue == BIAS ? "the bias" : "the gradient of the bias";
}

Status checkLayout(const Problem& problem, const Layout& layout, const char* which) {
    if (bytesOf(layout.type) == 0) {
        return refuse(problem, NOT_SUPPORTED, format("%s is of type %d, which is not simulated", which, layout.type));
    }
    if ((layout.order != COLUMNS && layout.order != ROWS) || layout.batches != 1) {
        return refuse(problem, NOT_SUPPORTED, format("%s has order %d and %d batches; orders COL and ROW and single "
            "matrices are simulated", which, layout.order, layout.batches));
    }
    uint64_t needed = layout.order == COLUMNS ? layout.rows : layout.cols;
    if (layout.ld < 0 || static_cast<uint64_t>(layout.ld) < needed || layout.rows == 0 || layout.cols == 0) {
        return refuse(problem, INVALID_VALUE, format("%s is %zu x %zu with a leading dimension of %zd, below %zu",
            which, layout.rows, layout.cols, static_cast<ssize_t>(layout.ld), needed));
    }
    return SUCCESS;
}

Status checkDesc(const Problem& problem) {
    const MatmulDesc& desc = *problem.desc;
    bool computes = desc.compute == COMPUTE_32F || desc.compute == COMPUTE_32F_PEDANTIC
        || desc.compute == COMPUTE_32F_FAST_TF32;
    if (!computes || desc.scaleType != F32) {
        return refuse(problem, NOT_SUPPORTED, format("compute type %d with scale type %d is not simulated",
            desc.compute, desc.scaleType));
    }
    auto known = [](int32_t operation) { return operation == OP_N || operation == OP_T; };
    if (desc.pointerMode != 0 || desc.fillMode != 0 || desc.transC != OP_N || !known(desc.transA)
        || !known(desc.transB)) {
        return refuse(problem, NOT_SUPPORTED, format("pointer mode %d, fill mode %d, operations %d, %d, %d are not "
            "simulated", desc.pointerMode, desc.fillMode, desc.transA, desc.transB, desc.transC));
    }
    if (desc.epilogue != PLAIN && desc.epilogue != BIAS && desc.epilogue != BIAS_GRADIENT_B) {
        return refuse(problem, NOT_SUPPORTED, format("epilogue %u is not simulated", desc.epilogue));
    }
    return SUCCESS;
}

Status checkTypes(const Problem& problem) {
    int32_t operands = problem.a->type;
    int32_t result = problem.d->type;
    if (problem.b->type != operands || problem.c->type != result || (result != operands && result != F32)) {
        return refuse(problem, NOT_SUPPORTED, format("there is no product of %s by %s that adds %s and gives %s",
            nameOf(operands), nameOf(problem.b->type), nameOf(problem.c->type), nameOf(result)));
    }
    if (problem.desc->compute == COMPUTE_32F_FAST_TF32 && operands != F32) {
        return refuse(problem, NOT_SUPPORTED, "TF32 is for fp32 operands");
    }
    int32_t bias = problem.desc->biasType;
    if (problem.desc->epilogue != PLAIN && bias != SAME_AS_RESULT && bias != result) {
        return refuse(problem, NOT_SUPPORTED, format("%s is %s, and the result %s", vectorOf(problem), nameOf(bias),
            nameOf(result)));
    }
    return SUCCESS;
}

Status checkShapes(const Problem& problem) {
    const Layout& c = *problem.c;
    const Layout& d = *problem.d;
    size_t m = rowsAfter(*problem.a, problem.desc->transA);
    size_t k = colsAfter(*problem.a, problem.desc->transA);
    size_t n = colsAfter(*problem.b, problem.desc->transB);
    size_t rowsB = rowsAfter(*problem.b, problem.desc->transB);
    if (rowsB != k || d.rows != m || d.cols != n || c.rows != m || c.cols != n) {
        return refuse(problem, INVALID_VALUE, format("op(A) is %zu x %zu, op(B) %zu x %zu, C %zu x %zu, D %zu x %zu",
            m, k, rowsB, n, c.rows, c.cols, d.rows, d.cols));
    }
    return SUCCESS;
}

Status checkPointer(const Problem& problem, const void* data, size_t alignment, const char* which) {
    if (data == nullptr || reinterpret_cast<uintptr_t>(data) % alignment != 0) {
        return refuse(problem, INVALID_VALUE, format("%s at %p is not aligned to %zu bytes, as was promised", which,
            data, alignment));
    }
    return SUCCESS;
}

// No preference tells the heuristic where the bias lies, so it may choose a kernel that accesses sixteen bytes at once.
Status checkBias(const Problem& problem) {
    const void* bias = problem.desc->bias;
    if (bias == nullptr || reinterpret_cast<uintptr_t>(bias) % BIAS_ALIGNMENT != 0) {
        return refuse(problem, INVALID_VALUE, format("%s at %p is not aligned to %zu bytes, which the heuristic "
            "takes for granted", vectorOf(problem), bias, BIAS_ALIGNMENT));
    }
    return SUCCESS;
}

Status checkPointers(const Problem& problem, const Buffers& buffers, const Algo* algo) {
    const void* const data[] = {buffers.a, buffers.b, buffers.c, buffers.d};
    const Layout* const layouts[] = {problem.a, problem.b, problem.c, problem.d};
    const char* const names[] = {"A", "B", "C", "D"};
    constexpr int C = 2;
    for (int i = 0; i < 4; ++i) {
        size_t promised = algo != nullptr ? algo->alignments[i] : 0;
        bool used = i != C || *buffers.beta != 0;
        Status status = used ? checkPointer(problem, data[i], std::max(promised, bytesOf(layouts[i]->type)), names[i])
            : SUCCESS;
        if (status != SUCCESS) {
            return status;
        }
    }
    if (problem.desc->epilogue != PLAIN) {
        return checkBias(problem);
    }
    // cuBLASLt 13.1 refuses this on an H100, although the pointer would not be used.
    return problem.desc->bias == nullptr ? SUCCESS
        : refuse(problem, INVALID_VALUE, "there is an address of a bias, and no epilogue that uses it");
}

Status checkWorkspace(const Problem& problem, const Buffers& buffers, const Algo& algo) {
    if (algo.workspace == 0) {
        return SUCCESS;
    }
    if (buffers.workspace == nullptr || buffers.workspaceBytes < algo.workspace) {
        return refuse(problem, INVALID_VALUE, format("the algorithm needs %zu bytes of workspace, and has %zu at %p",
            algo.workspace, buffers.workspaceBytes, buffers.workspace));
    }
    if (reinterpret_cast<uintptr_t>(buffers.workspace) % WORKSPACE_ALIGNMENT != 0) {
        return refuse(problem, INVALID_VALUE, format("the workspace at %p is not aligned to %zu bytes",
            buffers.workspace, WORKSPACE_ALIGNMENT));
    }
    return SUCCESS;
}

bool overlap(const SimRange& first, const SimRange& second) {
    auto start = [](const SimRange& range) { return reinterpret_cast<uintptr_t>(range.address); };
    auto end = [&](const SimRange& range) { return start(range) + (range.rows - 1) * range.pitch + range.bytes; };
    return start(first) < end(second) && start(second) < end(first);
}

// Whether alpha scales the gradient of a bias is not documented.
Status checkGradient(const Problem& problem, const Buffers& buffers, const Algo* algo) {
    if (*buffers.alpha != 1) {
        return refuse(problem, NOT_SUPPORTED, "the gradient of a bias is simulated for an alpha of 1");
    }
    std::vector<SimRange> others = {range(*problem.a, buffers.a), range(*problem.b, buffers.b),
        range(*problem.d, buffers.d)};
    if (algo != nullptr && algo->workspace != 0) {
        others.push_back({buffers.workspace, algo->workspace, 1, 0});
    }
    SimRange gradient = biasRange(problem);
    if (std::any_of(others.begin(), others.end(), [&](const SimRange& other) { return overlap(gradient, other); })) {
        return refuse(problem, INVALID_VALUE, "the gradient of the bias overlaps a matrix or the workspace");
    }
    return SUCCESS;
}

Status checkPlaces(const Problem& problem, const Buffers& buffers, const Algo* algo) {
    SimRange d = range(*problem.d, buffers.d);
    if (overlap(d, range(*problem.a, buffers.a)) || overlap(d, range(*problem.b, buffers.b))) {
        return refuse(problem, INVALID_VALUE, "the result overlaps an operand");
    }
    bool inPlace = buffers.c == buffers.d && *problem.c == *problem.d;
    if (*buffers.beta != 0 && overlap(d, range(*problem.c, buffers.c)) && !inPlace) {
        return refuse(problem, INVALID_VALUE, "C and D overlap and are not the same matrix");
    }
    return problem.desc->epilogue == BIAS_GRADIENT_B ? checkGradient(problem, buffers, algo) : SUCCESS;
}

Matrix matrix(const Layout& layout, int32_t operation, const void* data) {
    auto ld = static_cast<size_t>(layout.ld);
    bool contiguousRows = (layout.order == ROWS) != (operation == OP_T);
    return {const_cast<void*>(data), static_cast<Type>(layout.type), contiguousRows ? ld : 1, contiguousRows ? 1 : ld};
}

}  // namespace

std::string nameOf(const Problem& problem) {
    return format("cublasLtMatmul %zu x %zu x %zu %s", problem.d->rows, problem.d->cols,
        colsAfter(*problem.a, problem.desc->transA), nameOf(problem.a->type));
}

Status check(const Problem& problem) {
    if (problem.desc == nullptr || problem.a == nullptr || problem.b == nullptr || problem.c == nullptr
        || problem.d == nullptr) {
        return refuse(INVALID_VALUE, "cublasLtMatmul: a descriptor is null");
    }
    const std::pair<const Layout*, const char*> layouts[] = {{problem.a, "A"}, {problem.b, "B"}, {problem.c, "C"},
        {problem.d, "D"}};
    for (auto [layout, which] : layouts) {
        if (Status status = checkLayout(problem, *layout, which); status != SUCCESS) {
            return status;
        }
    }
    if (Status status = checkDesc(problem); status != SUCCESS) {
        return status;
    }
    Status status = checkTypes(problem);
    return status != SUCCESS ? status : checkShapes(problem);
}

Status check(const Problem& problem, const Algo& algo) {
    if (algo.mark != ALGO_MARK || algo.behaviour > REFUSED) {
        return refuse(problem, INVALID_VALUE, "the algorithm does not come from the heuristic");
    }
    return SUCCESS;
}

Status check(const Problem& problem, const Buffers& buffers, const Algo* algo) {
    if (buffers.alpha == nullptr || buffers.beta == nullptr) {
        return refuse(problem, INVALID_VALUE, "alpha or beta is null");
    }
    if (algo != nullptr) {
        Status status = check(problem, *algo);
        status = status != SUCCESS ? status : checkWorkspace(problem, buffers, *algo);
        if (status != SUCCESS) {
            return status;
        }
    }
    Status status = checkPointers(problem, buffers, algo);
    return status != SUCCESS ? status : checkPlaces(problem, buffers, algo);
}

Product product(const Problem& problem, const Buffers& buffers, const Algo* algo) {
    const MatmulDesc& desc = *problem.desc;
    return {problem.d->rows, problem.d->cols, colsAfter(*problem.a, desc.transA),
        matrix(*problem.a, desc.transA, buffers.a), matrix(*problem.b, desc.transB, buffers.b),
        matrix(*problem.c, OP_N, buffers.c), matrix(*problem.d, OP_N, buffers.d),
        desc.epilogue == BIAS ? desc.bias : nullptr,
        desc.epilogue == BIAS_GRADIENT_B ? const_cast<void*>(desc.bias) : nullptr, *buffers.alpha, *buffers.beta,
        tf32(desc.compute) ? Rounding::TF32 : Rounding::NONE, algo != nullptr ? algo->behaviour : RIGHT};
}

SimRange biasRange(const Problem& problem) {
    size_t elements = problem.desc->epilogue == BIAS ? problem.d->rows : problem.d->cols;
    return {problem.desc->bias, elements * bytesOf(problem.d->type), 1, 0};
}

SimRange range(const Layout& layout, const void* data) {
    size_t bytes = bytesOf(layout.type);
    size_t inner = layout.order == COLUMNS ? layout.rows : layout.cols;
    size_t outer = layout.order == COLUMNS ? layout.cols : layout.rows;
    return {data, inner * bytes, outer, static_cast<size_t>(layout.ld) * bytes};
}

}  // namespace blas
