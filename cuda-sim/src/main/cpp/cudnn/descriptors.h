// Descriptors: which attributes each kind has, and the rules of setting, finalizing and reading them.
#pragma once

#include "backend.h"
#include "status.h"

namespace cudnn {

// The descriptor behind a pointer that the caller holds; null if there is none.
std::shared_ptr<Descriptor> find(const void* pointer);

}  // namespace cudnn
