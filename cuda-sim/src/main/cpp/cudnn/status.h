// Refusals, with messages.
#pragma once

#include <string>

#include "backend.h"
#include "format.h"

namespace cudnn {

// Prints why a call is refused and returns its status; cudnnGetLastErrorString then gives the reason.
Status refuse(Status status, const std::string& why);

}  // namespace cudnn
