// A device goes on while the host does something else. Here work waits until it is asked for, so that what is missing
// shows; but other processes may wait for an operation that is ready at some time only, while this one waits for them.
#pragma once

namespace sim {

// From now on, when no call has come for a while, operations with `ready` are run, and what comes before them.
void goOnAlone();

// Notes that a call has come.
void noteCall();

}  // namespace sim
