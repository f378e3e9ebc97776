// The library itself: its handle and versions, the heuristic, and products, which wait on their stream like kernels.
#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "call.h"
#include "lt.h"
#include "sim.h"
#include "status.h"

using namespace blas;

namespace {

constexpr size_t VERSION = 130201;
constexpr size_t RUNTIME_VERSION = 13010;

struct Handle {
    int made;
};

// An algorithm that splits long sums keeps the parts in the workspace. The simulation does not split, but requires the
// workspace that such an algorithm needs.
size_t splitWorkspace(const Problem& problem, size_t k) {
    size_t m = problem.d->rows;
    size_t n = problem.d->cols;
    constexpr size_t PARTS = 2;
    return k >= std::max(m, n) ? PARTS * m * n * sizeof(float) : 0;
}

// The algorithms of the heuristic, in its order: ISOBAR_SIM_LT has their names, with spaces between them.
std::vector<Behaviour> algorithms() {
    static const std::map<std::string, Behaviour> NAMES = {{"right", RIGHT}, {"slow", SLOW}, {"split", SPLIT},
        {"inexact", INEXACT}, {"unequal", UNEQUAL}, {"failing", FAILING}, {"no_sums", NO_SUMS},
        {"refused", REFUSED}};
    const char* listed = getenv("ISOBAR_SIM_LT");
    std::istringstream names(listed == nullptr || *listed == 0 ? "right" : listed);
    std::vector<Behaviour> algorithms;
    for (std::string name; names >> name;) {
        algorithms.push_back(NAMES.at(name));
    }
    return algorithms;
}

// Whether an algorithm has the epilogue.
bool computes(Behaviour behaviour, const MatmulDesc& desc) {
    return behaviour != NO_SUMS || desc.epilogue != BIAS_GRADIENT_B;
}

HeuristicResult result(const Preference& preference, size_t workspace, Behaviour behaviour, size_t number) {
    HeuristicResult result = {};
    result.algo.mark = ALGO_MARK;
    result.algo.workspace = workspace;
    result.algo.behaviour = behaviour;
    result.algo.number = number;
    std::copy(preference.alignments, preference.alignments + 4, result.algo.alignments);
    result.workspace = workspace;
    result.state = SUCCESS;
    result.waves = 1;
    return result;
}

void run(void* context) {
    multiply(*static_cast<Product*>(context));
}

void release(void* context) {
    delete static_cast<Product*>(context);
}

int enqueue(const Problem& problem, const Buffers& buffers, const Algo* algo, void* stream) {
    std::vector<SimRange> reads = {range(*problem.a, buffers.a), range(*problem.b, buffers.b)};
    std::vector<SimRange> writes = {range(*problem.d, buffers.d)};
    if (*buffers.beta != 0) {
        reads.push_back(range(*problem.c, buffers.c));
    }
    if (problem.desc->epilogue == BIAS) {
        reads.push_back(biasRange(problem));
    } else if (problem.desc->epilogue == BIAS_GRADIENT_B) {
        writes.push_back(biasRange(problem));
    }
    if (algo != nullptr && algo->workspace != 0) {
        writes.push_back({buffers.workspace, algo->workspace, 1, 0});
    }
    int error = sim_enqueue(stream, nameOf(problem).c_str(), run, release, new Product(product(problem, buffers, algo)),
        reads.data(), static_cast<int>(reads.size()), writes.data(), static_cast<int>(writes.size()));
    return error == 0 ? SUCCESS : EXECUTION_FAILED;
}

}  // namespace

BLAS_API size_t cublasLtGetVersion() {
    return VERSION;
}

BLAS_API size_t cublasLtGetCudartVersion() {
    return RUNTIME_VERSION;
}

BLAS_API int cublasLtGetProperty(int property, int* value) {
    const int parts[] = {13, 2, 1};
    if (property < 0 || property > 2) {
        return refuse(INVALID_VALUE, format("cublasLtGetProperty: no property %d", property));
    }
    *value = parts[property];
    return SUCCESS;
}

BLAS_API int cublasLtCreate(Handle** handle) {
    *handle = new Handle{1};
    return SUCCESS;
}

BLAS_API int cublasLtDestroy(Handle* handle) {
    delete handle;
    return SUCCESS;
}

BLAS_API int cublasLtMatmulAlgoGetHeuristic(Handle* handle, const MatmulDesc* desc, const Layout* a, const Layout* b,
    const Layout* c, const Layout* d, const Preference* preference, int requested, HeuristicResult* results,
    int* found) {
    *found = 0;
    if (handle == nullptr || preference == nullptr || requested < 1 || results == nullptr) {
        return refuse(INVALID_VALUE, "cublasLtMatmulAlgoGetHeuristic: no handle, preference or results");
    }
    Problem problem = {desc, a, b, c, d};
    if (Status status = check(problem); status != SUCCESS) {
        return status;
    }
    size_t workspace = splitWorkspace(problem, desc->transA == OP_N ? a->cols : a->rows);
    bool mayAdd = (preference->reductionSchemes & IN_COMPUTE_TYPE) != 0;
    bool splits = workspace != 0 && workspace <= preference->mostWorkspace && mayAdd;
    std::vector<Behaviour> behaviours = algorithms();
    for (size_t i = 0; i < behaviours.size() && *found < requested; ++i) {
        if (computes(behaviours[i], *desc)) {
            results[(*found)++] = result(*preference, splits ? workspace : 0, behaviours[i], i);
        }
    }
    return *found > 0 ? SUCCESS : refuse(NOT_SUPPORTED, "no algorithm has the epilogue, as ISOBAR_SIM_LT says");
}

BLAS_API int cublasLtMatmulAlgoCheck(Handle* handle, const MatmulDesc* desc, const Layout* a, const Layout* b,
    const Layout* c, const Layout* d, const Algo* algo, HeuristicResult* result) {
    if (handle == nullptr || algo == nullptr || result == nullptr) {
        return refuse(INVALID_VALUE, "cublasLtMatmulAlgoCheck: no handle, algorithm or result");
    }
    Problem problem = {desc, a, b, c, d};
    Status status = check(problem);
    status = status != SUCCESS ? status : check(problem, *algo);
    std::vector<Behaviour> own = algorithms();
    bool known = std::find(own.begin(), own.end(), algo->behaviour) != own.end();
    if (status == SUCCESS && (!known || algo->behaviour == REFUSED || !computes(algo->behaviour, *desc))) {
        status = refuse(NOT_SUPPORTED, "this library refuses the algorithm, as ISOBAR_SIM_LT says");
    }
    result->workspace = status == SUCCESS ? algo->workspace : 0;
    result->state = status;
    return status;
}

BLAS_API int cublasLtMatmul(Handle* handle, const MatmulDesc* desc, const void* alpha, const void* dataA,
    const Layout* a, const void* dataB, const Layout* b, const void* beta, const void* dataC, const Layout* c,
    void* dataD, const Layout* d, const Algo* algo, void* workspace, size_t workspaceBytes, void* stream) {
    if (handle == nullptr) {
        return refuse(INVALID_VALUE, "cublasLtMatmul: no handle");
    }
    Problem problem = {desc, a, b, c, d};
    Buffers buffers = {static_cast<const float*>(alpha), static_cast<const float*>(beta), dataA, dataB, dataC, dataD,
        workspace, workspaceBytes};
    Status status = check(problem);
    if (status == SUCCESS) {
        status = check(problem, buffers, algo);
    }
    if (status == SUCCESS && algo != nullptr && algo->behaviour == FAILING) {
        status = refuse(EXECUTION_FAILED, "the algorithm fails, as ISOBAR_SIM_LT says");
    }
    return status != SUCCESS ? static_cast<int>(status) : enqueue(problem, buffers, algo, stream);
}
