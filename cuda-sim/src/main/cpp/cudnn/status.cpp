#include "status.h"

#include <cstring>
#include <map>

#include "sim.h"

namespace cudnn {
namespace {

// Codes of the driver.
constexpr int DRIVER_INVALID_VALUE = 1;
constexpr int DRIVER_NOT_SUPPORTED = 801;

const std::map<int, const char*> NAMES = {
    {SUCCESS, "CUDNN_STATUS_SUCCESS"},
    {NOT_INITIALIZED, "CUDNN_STATUS_NOT_INITIALIZED"},
    {BAD_PARAM, "CUDNN_STATUS_BAD_PARAM"},
    {NULL_POINTER, "CUDNN_STATUS_BAD_PARAM_NULL_POINTER"},
    {MISALIGNED_POINTER, "CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER"},
    {NOT_FINALIZED, "CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED"},
    {OUT_OF_BOUND, "CUDNN_STATUS_BAD_PARAM_OUT_OF_BOUND"},
    {SHAPE_MISMATCH, "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH"},
    {DUPLICATED_ENTRIES, "CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES"},
    {ATTRIBUTE_TYPE, "CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE"},
    {DESCRIPTOR_TYPE, "CUDNN_STATUS_BAD_PARAM_DESCRIPTOR_TYPE"},
    {NOT_SUPPORTED, "CUDNN_STATUS_NOT_SUPPORTED"},
    {NOT_SUPPORTED_SHAPE, "CUDNN_STATUS_NOT_SUPPORTED_SHAPE"},
    {NOT_SUPPORTED_DATA_TYPE, "CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE"},
    {NOT_SUPPORTED_LAYOUT, "CUDNN_STATUS_NOT_SUPPORTED_LAYOUT"},
    {EXECUTION_FAILED, "CUDNN_STATUS_EXECUTION_FAILED"}};

thread_local std::string lastError;

}  // namespace

Status refuse(Status status, const std::string& why) {
    lastError = why;
    sim_refuse(status >= NOT_SUPPORTED && status < EXECUTION_FAILED ? DRIVER_NOT_SUPPORTED : DRIVER_INVALID_VALUE,
        why.c_str());
    return status;
}

}  // namespace cudnn

CUDNN_API const char* cudnnGetErrorString(int status) {
    auto name = cudnn::NAMES.find(status);
    return name == cudnn::NAMES.end() ? "CUDNN_STATUS_UNKNOWN" : name->second;
}

// The text is read once, as in cuDNN.
CUDNN_API void cudnnGetLastErrorString(char* message, size_t size) {
    if (message != nullptr && size != 0) {
        strncpy(message, cudnn::lastError.c_str(), size - 1);
        message[size - 1] = 0;
        cudnn::lastError.clear();
    }
}
