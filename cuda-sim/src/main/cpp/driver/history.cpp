#include "history.h"

#include <algorithm>
#include <deque>
#include <set>

#include "errors.h"

namespace sim {
namespace {

struct Issued {
    const Stream* stream;
    uint32_t sequence;
    const std::string* name;
};

constexpr size_t REMEMBERED = 200000;

std::deque<Issued> history;    // operations by number, from `oldest` on
uint32_t oldest = 1;
uint32_t settled = 0;          // all operations up to this number have ended, and the host knows it
std::set<std::string> names;
Clock known;

uint32_t at(const Clock& clock, const Stream& stream) {
    return static_cast<size_t>(stream.number) < clock.size() ? clock[stream.number] : 0;
}

}  // namespace

void join(Clock& clock, const Clock& other) {
    clock.resize(std::max(clock.size(), other.size()));
    for (size_t i = 0; i < other.size(); ++i) {
        clock[i] = std::max(clock[i], other[i]);
    }
}

void raise(Clock& clock, const Stream& stream, uint32_t sequence) {
    clock.resize(std::max<size_t>(clock.size(), stream.number + 1));
    clock[stream.number] = std::max(clock[stream.number], sequence);
}

void remember(Operation& operation) {
    operation.number = oldest + static_cast<uint32_t>(history.size());
    operation.settled = settled;
    history.push_back({operation.stream, operation.sequence, &*names.insert(operation.name).first});
}

const Clock& knownByHost() {
    return known;
}

void learn(const Clock& clock) {
    join(known, clock);
    while (settled + 1 - oldest < history.size()) {
        const Issued& next = history[settled + 1 - oldest];
        if (next.sequence > at(known, *next.stream)) {
            break;
        }
        ++settled;
    }
    while (history.size() > REMEMBERED && oldest <= settled) {
        history.pop_front();
        ++oldest;
    }
}

bool ordered(uint32_t number) {
    const Operation* current = running();
    if (number <= current->settled || number < oldest) {
        return true;
    }
    const Issued& other = history[number - oldest];
    return other.stream == current->stream ? other.sequence <= current->sequence
        : other.sequence <= at(current->clock, *other.stream);
}

std::string whereIs(uint32_t number) {
    const Operation* current = running();
    if (current != nullptr && number == current->number) {
        return format("%s (operation %s)", current->stream->title.c_str(), current->name.c_str());
    }
    if (number < oldest) {
        return format("a stream (operation number %u)", number);
    }
    const Issued& issued = history[number - oldest];
    return format("%s (operation %s)", issued.stream->title.c_str(), issued.name->c_str());
}

}  // namespace sim
