// Groups of calls. The calls of a group on one communicator are one operation of its stream, and run concurrently.
#pragma once

#include "call.h"

namespace nccl {

// Puts a call that has been checked on its stream, or keeps it for the end of the group that is open on this thread.
Status issue(std::shared_ptr<Comm> comm, const Call& call, void* stream);

// Whether a group is open on this thread.
bool inGroup();

// Notes that a call of the open group has failed, which fails the whole group.
Status failGroup(Status status);

Status startGroup();
Status endGroup();

}  // namespace nccl
