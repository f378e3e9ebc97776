// The history of issued operations. Vector clocks say which operations are ordered before which: the clock of an
// operation holds, for each stream, how many of its operations come before.
#pragma once

#include <cstdint>
#include <string>

#include "streams.h"

namespace sim {

// Merges another clock into this one.
void join(Clock& clock, const Clock& other);

// Adds the operations of a stream up to this one.
void raise(Clock& clock, const Stream& stream, uint32_t sequence);

// Numbers a newly issued operation and remembers it.
void remember(Operation& operation);

// The operations that the host knows to have ended.
const Clock& knownByHost();

// Adds to them all operations up to this clock.
void learn(const Clock& clock);

// Whether the operation with this number is ordered before the running one.
bool ordered(uint32_t number);

// "stream 2 (operation layer_norm)", for messages.
std::string whereIs(uint32_t number);

}  // namespace sim
