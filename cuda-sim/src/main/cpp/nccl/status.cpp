#include "status.h"

#include <atomic>
#include <cstdio>

namespace nccl {
namespace {

// Texts are never freed, because callers keep pointers to them.
std::atomic<const std::string*> lastError = nullptr;

const char* meaning(int status) {
    switch (status) {
        case SUCCESS: return "no error";
        case UNHANDLED_CUDA_ERROR: return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
        case SYSTEM_ERROR: return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
        case INVALID_ARGUMENT: return "invalid argument (run with NCCL_DEBUG=WARN for details)";
        case INVALID_USAGE: return "invalid usage (run with NCCL_DEBUG=WARN for details)";
        case REMOTE_ERROR: return "remote process exited or there was a network error";
        default: return "unknown result code";
    }
}

}  // namespace

void remember(const std::string& why) {
    lastError = new std::string(why);
}

Status refuse(Status status, const std::string& why) {
    fprintf(stderr, "cuda-sim: %s\n", why.c_str());
    fflush(stderr);
    remember(why);
    return status;
}

}  // namespace nccl

NCCL_API const char* ncclGetErrorString(int status) {
    return nccl::meaning(status);
}

// As in NCCL, the last of the process, whichever communicator is named.
NCCL_API const char* ncclGetLastError(void*) {
    const std::string* last = nccl::lastError;
    return last == nullptr ? "" : last->c_str();
}
