// Background progress. A real device works while the host does something else. The simulated one runs work only when
// it is needed, so that missing synchronization shows. But other processes may wait for an operation of this one, so a
// background thread runs operations that depend on other processes.
#pragma once

namespace sim {

// Starts the background thread: when no call has come for a while, it runs operations with `ready` and those before
// them.
void goOnAlone();

// Tells the background thread that a call has come.
void noteCall();

}  // namespace sim
