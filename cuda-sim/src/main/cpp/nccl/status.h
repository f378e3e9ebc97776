// Refusals and asynchronous errors, with messages. They do not go through the driver: a communicator can be aborted
// while another thread waits in there.
#pragma once

#include <string>

#include "format.h"
#include "nccl.h"

namespace nccl {

// The text that ncclGetLastError gives.
void remember(const std::string& why);

// Prints why, which ncclGetLastError then gives, and returns the status.
Status refuse(Status status, const std::string& why);

}  // namespace nccl
