#include "errors.h"

#include <cstdio>
#include <deque>
#include <map>

#include "api.h"

namespace sim {
namespace {

Code broken = SUCCESS;
std::map<int, const std::string*> messages;  // the latest of each code
std::deque<std::string> kept;                // never freed, because callers keep pointers into them

const std::map<int, const char*> NAMES = {
    {SUCCESS, "CUDA_SUCCESS"}, {INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE"},
    {OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY"}, {NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED"},
    {NO_DEVICE, "CUDA_ERROR_NO_DEVICE"}, {INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE"},
    {INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE"}, {INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT"},
    {NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU"}, {INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE"},
    {NOT_FOUND, "CUDA_ERROR_NOT_FOUND"},
    {NOT_READY, "CUDA_ERROR_NOT_READY"}, {ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS"},
    {LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"},
    {MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS"}, {LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED"},
    {NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED"}, {ILLEGAL_STATE, "CUDA_ERROR_ILLEGAL_STATE"},
    {CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED"},
    {CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED"}, {CAPTURE_MERGE, "CUDA_ERROR_STREAM_CAPTURE_MERGE"},
    {CAPTURE_UNMATCHED, "CUDA_ERROR_STREAM_CAPTURE_UNMATCHED"},
    {CAPTURE_UNJOINED, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED"},
    {CAPTURE_ISOLATION, "CUDA_ERROR_STREAM_CAPTURE_ISOLATION"},
    {CAPTURE_IMPLICIT, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT"}, {CAPTURED_EVENT, "CUDA_ERROR_CAPTURED_EVENT"},
    {CAPTURE_WRONG_THREAD, "CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD"}};

}  // namespace

void refuse(Code code, const std::string& message) {
    throw Failure{code, message, Lasting::CALL};
}

void breakDevice(Code code, const std::string& message) {
    throw Failure{code, message, Lasting::DEVICE};
}

void report(const Failure& failure) {
    fprintf(stderr, "cuda-sim: %s\n", failure.message.c_str());
    fflush(stderr);
    kept.push_back(failure.message);
    messages[failure.code] = &kept.back();
    if (failure.lasting == Lasting::DEVICE && broken == SUCCESS) {
        broken = failure.code;
    }
}

Code deviceError() {
    return broken;
}

void healDevice() {
    broken = SUCCESS;
}

}  // namespace sim

using namespace sim;

SIM_API int cuGetErrorName(int code, const char** name) {
    auto found = NAMES.find(code);
    *name = found == NAMES.end() ? nullptr : found->second;
    return found == NAMES.end() ? INVALID_VALUE : SUCCESS;
}

SIM_API int cuGetErrorString(int code, const char** text) {
    std::lock_guard<std::recursive_mutex> hold(machineLock());
    auto found = messages.find(code);
    if (found != messages.end()) {
        *text = found->second->c_str();
        return SUCCESS;
    }
    return cuGetErrorName(code, text);
}

SIM_API int sim_refuse(int code, const char* message) {
    std::lock_guard<std::recursive_mutex> hold(machineLock());
    report({static_cast<Code>(code), message, Lasting::CALL});
    return code;
}

SIM_API void sim_fail(int code, const char* message) {
    breakDevice(static_cast<Code>(code), message);
}
