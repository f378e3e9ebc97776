#include "access.h"

#include "block.h"
#include "device.h"
#include "errors.h"
#include "fibers.h"
#include "history.h"
#include "shared.h"
#include "streams.h"

namespace sim {
namespace {

constexpr size_t REMEMBERED = 256;

struct Live {
    Address base = 0;
    size_t bytes = 0;
};

Live remembered[REMEMBERED];  // by address

bool isLive(Address a, size_t bytes) {
    Live& live = remembered[(a >> 12) % REMEMBERED];
    if (a - live.base >= live.bytes) {
        const Allocation* found = allocationAt(a);
        if (found == nullptr || found->device != running()->stream->device) {
            return false;
        }
        live = {found->base, found->bytes};
    }
    return bytes <= live.bytes - (a - live.base);
}

const char* verb(Direction direction) {
    return direction == Direction::READ ? "reads" : "writes";
}

std::string outside(Address a, size_t bytes, Direction direction) {
    const Allocation* found = allocationAt(a);
    if (found != nullptr && found->device != running()->stream->device) {
        return format("%s memory of device %d on device %d", verb(direction), found->device, running()->stream->device);
    }
    Address first = found == nullptr ? a : found->base + found->bytes;
    return format("%s %zu bytes out of bounds, at %s", verb(direction), bytes - (first - a), describe(first).c_str());
}

std::string troubled(const Finding& finding, Direction direction) {
    std::string where = describe(finding.address);
    switch (finding.trouble) {
        case Trouble::UNWRITTEN:
            return "reads " + where + ", which nothing wrote";
        case Trouble::UNORDERED:
            return format("missing event between %s and %s: %s %s", whereIs(finding.other).c_str(),
                whereIs(running()->number).c_str(), verb(direction), where.c_str());
        default:
            return format("race: %s %s, which %s touched in the same launch, and nothing orders the two",
                verb(direction), where.c_str(), threadName(finding.other).c_str());
    }
}

void noteGlobal(Address a, size_t bytes, Direction direction, const void* pc) {
    if (!isLive(a, bytes)) {
        failThreadAt(ILLEGAL_ADDRESS, outside(a, bytes, direction), pc);
    }
    Finding finding = direction == Direction::READ ? noteRead(a, bytes, actor) : noteWrite(a, bytes, actor);
    if (finding.trouble != Trouble::NONE) {
        failThreadAt(LAUNCH_FAILED, troubled(finding, direction), pc);
    }
}

}  // namespace

std::string globalTrouble(Address a, size_t bytes, Direction direction, const Actor& by) {
    if (!arena.holds(a)) {
        return format("%s %zu bytes at %s", verb(direction), bytes, describe(a).c_str());
    }
    if (!isLive(a, bytes)) {
        return outside(a, bytes, direction);
    }
    Finding finding = direction == Direction::READ ? noteRead(a, bytes, by) : noteWrite(a, bytes, by);
    return finding.trouble == Trouble::NONE ? "" : troubled(finding, direction);
}

void forgetAllocations() {
    for (Live& live : remembered) {
        live = {};
    }
}

void noteAccess(Address a, size_t bytes, Direction direction, const void* pc) {
    if (a - stacks.base < stacks.bytes) {
        return;
    }
    if (arena.holds(a)) {
        noteGlobal(a, bytes, direction, pc);
    } else if (nearShared(a)) {
        noteShared(a, bytes, direction == Direction::READ ? Use::READ : Use::WRITE, pc);
    } else if (self != nullptr && !(direction == Direction::READ && inModule(*launch.kernel, a))) {
        failThreadAt(ILLEGAL_ADDRESS, format("%s %zu bytes at %s", verb(direction), bytes, describe(a).c_str()), pc);
    }
}

void noteAtomic(Address a, size_t bytes, const void* pc) {
    if (a % bytes != 0) {
        failThreadAt(MISALIGNED_ADDRESS, format("atomic operation on %zu bytes at %s, not aligned", bytes,
            describe(a).c_str()), pc);
    }
    if (nearShared(a)) {
        noteShared(a, bytes, Use::ATOMIC, pc);
        return;
    }
    if (!arena.holds(a)) {
        failThreadAt(ILLEGAL_ADDRESS, "atomic operation on " + describe(a), pc);
    }
    actor.atomic = true;
    noteGlobal(a, bytes, Direction::READ, pc);
    noteGlobal(a, bytes, Direction::WRITE, pc);
    actor.atomic = false;
}

void noteRange(Address a, size_t bytes, Direction direction) {
    if (bytes == 0) {
        return;
    }
    std::string who = format("%s on %s: ", running()->name.c_str(), running()->stream->title.c_str());
    const Allocation* found = allocationAt(a);
    if (found == nullptr || bytes > found->bytes - (a - found->base)) {
        breakDevice(ILLEGAL_ADDRESS, who + (arena.holds(a) ? outside(a, bytes, direction)
            : std::string(verb(direction)) + " " + describe(a)));
    }
    Actor whole;
    whole.operation = running()->number;
    Finding finding = direction == Direction::READ ? noteRead(a, bytes, whole) : noteWrite(a, bytes, whole);
    if (finding.trouble != Trouble::NONE) {
        breakDevice(LAUNCH_FAILED, who + troubled(finding, direction));
    }
}

}  // namespace sim
