// Refusals and asynchronous errors, with messages. They do not go through the driver: a communicator can be aborted
// while another thread waits in there.
#pragma once

#include <string>

#include "nccl.h"

namespace nccl {

std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));

// Prints why, which ncclGetLastError then gives, and returns the status.
Status refuse(Status status, const std::string& why);

}  // namespace nccl
