// cuBLASLt against plain loops: types, transposes, gaps, scales, bias, TF32.
#include <cmath>
#include <string>

#include "gemm.h"
#include "machine.h"
#include "suite.h"

namespace test {
namespace {

// Unit roundoff of a type that 1 + fraction bits hold.
double roundoff(Type type) {
    return type == F32 ? 0x1p-24 : type == F16 ? 0x1p-11 : 0x1p-8;
}

// Sums of k terms of at most 1 in single precision, then one rounding to the result's type.
void compare(const Gemm& gemm, const std::vector<float>& found, const std::vector<double>& expected) {
    double k = static_cast<double>(gemm.k);
    check(found.size() == expected.size(), "there are as many numbers");
    for (size_t i = 0; i < found.size(); ++i) {
        double tolerance = (k + 4) * (k + 2) * 0x1p-24 + roundoff(gemm.result) * std::fabs(expected[i]);
        check(std::fabs(found[i] - expected[i]) <= tolerance, "the product is that of the plain loops");
    }
}

void compare(const Gemm& gemm) {
    compare(gemm, multiply(gemm), reference(gemm));
}

void transposes(Type operands, Type result) {
    start();
    for (Operation a : {AS_IS, TRANSPOSED}) {
        for (Operation b : {AS_IS, TRANSPOSED}) {
            Gemm gemm;
            gemm.m = 37;
            gemm.n = 11;
            gemm.k = 19;
            gemm.operands = operands;
            gemm.result = result;
            gemm.opA = a;
            gemm.opB = b;
            compare(gemm);
            gemm.gap = 5;
            gemm.bias = true;
            gemm.alpha = 0.5f;
            gemm.beta = -2;
            compare(gemm);
        }
    }
}

// A weight's gradient, which is added to, and that of its bias, which is overwritten.
void biasGradient(Type operands, Type result) {
    start();
    for (Operation b : {AS_IS, TRANSPOSED}) {
        Gemm gemm;
        gemm.m = 37;
        gemm.n = 11;
        gemm.k = 19;
        gemm.operands = operands;
        gemm.result = result;
        gemm.opB = b;
        gemm.gap = 5;
        gemm.beta = 1;
        gemm.gradient = true;
        Results found = results(gemm);
        compare(gemm, found.d, reference(gemm));
        compare(gemm, found.gradient, gradientReference(gemm));
    }
}

// How many sums of c and a product are not those of c and the product that was stored without c.
size_t sumsOfMoreThanIsStored(size_t m) {
    Gemm gemm;
    gemm.m = m;
    gemm.n = gemm.k = 8;
    gemm.operands = gemm.result = BF16;
    std::vector<float> product = multiply(gemm);
    gemm.beta = 1;
    std::vector<float> sums = multiply(gemm);
    std::vector<float> c = elements(product.size(), 3);
    size_t others = 0;
    for (size_t i = 0; i < product.size(); ++i) {
        others += sums[i] != narrowed(product[i] + narrowed(c[i], BF16), BF16) ? 1 : 0;
    }
    return others;
}

void roundedBeforeAdding() {
    start();
    check(sumsOfMoreThanIsStored(16) == 0, "aligned products are rounded before c is added");
    check(sumsOfMoreThanIsStored(17) > 0, "others are not");
}

// Numbers whose last bits TF32 drops: the product of two of them tells how they were rounded.
float productOfOne(Compute compute) {
    Gemm gemm;
    gemm.m = gemm.n = 1;
    gemm.k = 400;
    gemm.compute = compute;
    return multiply(gemm)[0];
}

float roundedToTf32(float x) {
    double unit = std::ldexp(1.0, std::ilogb(x) - 10);
    return static_cast<float>(std::round(x / unit) * unit);  // ties away from zero
}

void tf32() {
    start();
    std::vector<float> a = elements(400, 1);
    std::vector<float> b = elements(400, 2);
    float exact = 0;
    float rounded = 0;
    for (int i = 0; i < 400; ++i) {
        exact += a[i] * b[i];
        rounded += roundedToTf32(a[i]) * roundedToTf32(b[i]);
    }
    check(exact != rounded, "the two differ");
    check(productOfOne(IN_FP32) == exact, "fp32 is not rounded");
    check(productOfOne(IN_TF32) == rounded, "TF32 is rounded to 10 bits of fraction");
}

void tf32Overridden() {
    start();
    check(productOfOne(IN_TF32) == productOfOne(IN_FP32), "NVIDIA_TF32_OVERRIDE=0 means fp32");
}

}  // namespace

void addBlasResults(Suite& suite) {
    suite.clean("cublasLt: fp32", [] { transposes(F32, F32); });
    suite.clean("cublasLt: fp16", [] { transposes(F16, F16); });
    suite.clean("cublasLt: fp16 to fp32", [] { transposes(F16, F32); });
    suite.clean("cublasLt: bf16", [] { transposes(BF16, BF16); });
    suite.clean("cublasLt: bf16 to fp32", [] { transposes(BF16, F32); });
    suite.clean("cublasLt: gradient of a bias, bf16 to fp32", [] { biasGradient(BF16, F32); });
    suite.clean("cublasLt: gradient of a bias, fp16", [] { biasGradient(F16, F16); });
    suite.clean("cublasLt: rounding before adding", roundedBeforeAdding);
    suite.clean("cublasLt: TF32", tf32);
    suite.clean("cublasLt: TF32 that the environment forbids", tf32Overridden, {{"NVIDIA_TF32_OVERRIDE", "0"}});
}

}  // namespace test
