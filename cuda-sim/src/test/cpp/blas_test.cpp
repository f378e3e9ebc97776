// cuBLASLt: refused calls, and errors in the memory of a call.
#include "gemm.h"
#include "machine.h"
#include "suite.h"

namespace test {
namespace {

// A product in bf16 whose sums are long, so that the heuristic asks for workspace.
Gemm product() {
    Gemm gemm;
    gemm.m = 16;
    gemm.n = 8;
    gemm.k = 64;
    gemm.operands = BF16;
    gemm.result = BF16;
    gemm.mostWorkspace = 1 << 20;
    return gemm;
}

// The product, with or without the planted bug.
auto spoilt(void (*spoil)(Gemm&)) {
    return [spoil](Program program) {
        start();
        Gemm gemm = product();
        if (program == WRONG) {
            spoil(gemm);
        }
        multiply(gemm);
    };
}

// A weight's gradient and that of its bias, with or without the planted bug.
auto spoiltGradient(void (*spoil)(Gemm&)) {
    return [spoil](Program program) {
        start();
        Gemm gemm = product();
        gemm.opB = TRANSPOSED;
        gemm.result = F32;
        gemm.gradient = true;
        if (program == WRONG) {
            spoil(gemm);
        }
        multiply(gemm);
    };
}

void addGradients(Suite& suite, const std::string& name) {
    suite.planted("cublasLt: gradient of a bias of the wrong type", {name,
        "the gradient of the bias is bf16, and the result fp32"}, spoiltGradient([](Gemm& g) { g.biasType = BF16; }));
    suite.planted("cublasLt: gradient of a bias off its alignment", {name, "the gradient of the bias at",
        "not aligned to 16 bytes"}, spoiltGradient([](Gemm& g) { g.offsetBias = 2; }));
    suite.planted("cublasLt: gradient of a bias over the result", {name,
        "the gradient of the bias overlaps a matrix or the workspace"},
        spoiltGradient([](Gemm& g) { g.gradientOverD = true; }));
    suite.planted("cublasLt: scaled gradient of a bias", {name, "simulated for an alpha of 1"},
        spoiltGradient([](Gemm& g) { g.alpha = 2; }));
    suite.planted("cublasLt: gradient of a bias too short by one element", {name, "on stream 0", "writes",
        "out of bounds"}, spoiltGradient([](Gemm& g) { g.shortGradient = 1; }));
}

}  // namespace

void addBlas(Suite& suite) {
    const std::string name = "cublasLtMatmul 16 x 8 x 64 bf16";
    suite.planted("cublasLt: bias of the wrong type", {name, "the bias is fp32, and the result bf16"},
        spoilt([](Gemm& g) {
            g.bias = true;
            g.biasType = F32;
        }));
    suite.planted("cublasLt: TF32 of bf16 operands", {name, "TF32 is for fp32"}, spoilt([](Gemm& g) {
        g.compute = IN_TF32;
    }));
    suite.planted("cublasLt: bf16 to fp16", {name, "there is no product of bf16 by bf16 that adds fp16 and gives fp16"},
        spoilt([](Gemm& g) { g.result = F16; }));
    suite.planted("cublasLt: operand off its promised alignment", {name, "A at", "not aligned to 16 bytes"},
        spoilt([](Gemm& g) { g.offsetA = 1; }));
    suite.planted("cublasLt: bias off its alignment", {name, "the bias at", "not aligned to 16 bytes"},
        [](Program program) {
            start();
            Gemm gemm = product();
            gemm.bias = true;
            gemm.offsetBias = program == WRONG ? 4 : 8;
            multiply(gemm);
        });
    suite.planted("cublasLt: bias without its epilogue", {name, "no epilogue that uses it"},
        spoilt([](Gemm& g) { g.unusedBias = true; }));
    suite.planted("cublasLt: leading dimension too small", {name,
        "A is 16 x 64 with a leading dimension of 15, below 16"}, spoilt([](Gemm& g) { g.lessOfLd = 1; }));
    suite.planted("cublasLt: workspace too small", {name, "needs 1024 bytes of workspace, and has 1023"},
        spoilt([](Gemm& g) { g.workspaceMissing = 1; }));
    suite.planted("cublasLt: workspace misaligned", {name, "the workspace at", "not aligned to 256 bytes"},
        spoilt([](Gemm& g) { g.workspaceOffset = 16; }));
    suite.planted("cublasLt: result over an operand", {name, "the result overlaps an operand"},
        spoilt([](Gemm& g) { g.resultOverA = true; }));
    suite.planted("cublasLt: operand too short by one element", {name, "on stream 0", "reads", "out of bounds"},
        spoilt([](Gemm& g) { g.shortA = 1; }));
    suite.planted("cublasLt: operand that nothing wrote", {name, "which nothing wrote"},
        spoilt([](Gemm& g) { g.uninitialized = true; }));
    addGradients(suite, name);
}

}  // namespace test
