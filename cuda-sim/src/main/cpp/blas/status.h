// Refusals, with messages.
#pragma once

#include <string>

#include "format.h"
#include "lt.h"

namespace blas {

// Prints why a call is refused and returns its status, whose text cublasLtGetStatusString then gives with the reason.
Status refuse(Status status, const std::string& why);

const char* statusName(int status);
const char* statusText(int status);

}  // namespace blas
