#include "status.h"

#include <map>

#include "sim.h"

namespace blas {
namespace {

// Codes of the driver.
constexpr int DRIVER_INVALID_VALUE = 1;
constexpr int DRIVER_NOT_SUPPORTED = 801;

struct Text {
    const char* name;
    const char* meaning;
};

const std::map<int, Text> TEXTS = {
    {SUCCESS, {"CUBLAS_STATUS_SUCCESS", "success"}},
    {NOT_INITIALIZED, {"CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"}},
    {ALLOC_FAILED, {"CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"}},
    {INVALID_VALUE, {"CUBLAS_STATUS_INVALID_VALUE", "an unsupported value or parameter was passed to the function"}},
    {ARCH_MISMATCH, {"CUBLAS_STATUS_ARCH_MISMATCH", "the device architecture lacks a feature"}},
    {EXECUTION_FAILED, {"CUBLAS_STATUS_EXECUTION_FAILED", "the function failed to launch on the GPU"}},
    {INTERNAL_ERROR, {"CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"}},
    {NOT_SUPPORTED, {"CUBLAS_STATUS_NOT_SUPPORTED", "the functionality requested is not supported"}}};

// The texts that callers hold must stay: one for each status and thread.
thread_local std::map<int, std::string> lastTexts;

}  // namespace

Status refuse(Status status, const std::string& why) {
    lastTexts[status] = std::string(TEXTS.at(status).meaning) + ": " + why;
    sim_refuse(status == NOT_SUPPORTED ? DRIVER_NOT_SUPPORTED : DRIVER_INVALID_VALUE, why.c_str());
    return status;
}

const char* statusName(int status) {
    auto text = TEXTS.find(status);
    return text == TEXTS.end() ? "CUBLAS_STATUS_UNKNOWN" : text->second.name;
}

const char* statusText(int status) {
    auto last = lastTexts.find(status);
    if (last != lastTexts.end()) {
        return last->second.c_str();
    }
    auto text = TEXTS.find(status);
    return text == TEXTS.end() ? "unknown error" : text->second.meaning;
}

}  // namespace blas

BLAS_API const char* cublasLtGetStatusName(int status) {
    return blas::statusName(status);
}

BLAS_API const char* cublasLtGetStatusString(int status) {
    return blas::statusText(status);
}
