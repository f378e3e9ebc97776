// The driver's functions on memory: allocation, copies, setting.
#include <cstring>
#include <memory>
#include <vector>

#include "access.h"
#include "api.h"
#include "capture.h"
#include "config.h"
#include "device.h"
#include "memory.h"
#include "shadow.h"
#include "streams.h"

#include "../sim.h"

using namespace sim;

namespace {

char* pointer(Address a) {
    return reinterpret_cast<char*>(a);
}

void needHost(const void* p, const char* what) {
    Address a = reinterpret_cast<Address>(p);
    if (p == nullptr || arena.holds(a)) {
        refuse(INVALID_VALUE, std::string(what) + " should be memory of the host, but is " + describe(a));
    }
}

uint64_t checksum(const void* p, size_t bytes) {
    constexpr uint64_t PRIME = 0x100000001b3;  // FNV-1a, eight bytes at a time
    uint64_t sum = 0xcbf29ce484222325;
    auto at = static_cast<const char*>(p);
    for (; bytes >= sizeof sum; bytes -= sizeof sum, at += sizeof sum) {
        uint64_t word;
        memcpy(&word, at, sizeof word);
        sum = (sum ^ word) * PRIME;
        sum ^= sum >> 32;
    }
    for (; bytes > 0; --bytes, ++at) {
        sum = (sum ^ static_cast<unsigned char>(*at)) * PRIME;
    }
    return sum;
}

// Pageable memory is copied before the call returns, as in CUDA.
void issueStaged(Stream* stream, Address to, const void* from, size_t bytes) {
    auto start = static_cast<const char*>(from);
    auto staged = std::make_shared<std::vector<char>>(start, start + bytes);
    Task task;
    task.name = "copy to device";
    task.run = [=] {
        noteRange(to, bytes, Direction::WRITE);
        memcpy(pointer(to), staged->data(), bytes);
    };
    issue(stream, std::move(task));
}

void needPinned(const void* p, size_t bytes) {
    if (!isPinned(p, bytes)) {
        refuse(INVALID_VALUE, format("a graph copies %zu bytes of pinned memory at %p, which was freed", bytes, p));
    }
}

// The bytes at `from` must be the same when the copy runs, unless another pending copy writes them.
Work copyUnchanged(Address to, const void* from, size_t bytes) {
    needPinned(from, bytes);
    const Operation* pending = pendingOn(from, bytes);
    bool arriving = pending != nullptr && pending->writesHost;
    uint64_t sum = arriving ? 0 : checksum(from, bytes);
    return [=] {
        if (!arriving && checksum(from, bytes) != sum) {
            breakDevice(LAUNCH_FAILED, format("pinned buffer changed before the copy ran: %zu bytes at %p, copied to "
                "%s on %s, were reused too early", bytes, from, describe(to).c_str(),
                running()->stream->title.c_str()));
        }
        noteRange(to, bytes, Direction::WRITE);
        memcpy(pointer(to), from, bytes);
    };
}

void issuePinned(Stream* stream, Address to, const void* from, size_t bytes) {
    Task task;
    task.name = "copy to device";
    task.prepare = [=] { return copyUnchanged(to, from, bytes); };
    task.host = from;
    task.hostBytes = bytes;
    issue(stream, std::move(task));
}

// Fills the host memory with garbage until the copy runs, so that an early read shows.
Work copyToHost(void* to, Address from, size_t bytes) {
    constexpr int JUNK = 0xcb;
    if (pendingOn(to, bytes) == nullptr) {
        memset(to, JUNK, bytes);
    }
    return [=] {
        noteRange(from, bytes, Direction::READ);
        memcpy(to, pointer(from), bytes);
    };
}

void issueToHost(Stream* stream, void* to, Address from, size_t bytes) {
    bool pinned = isPinned(to, bytes);
    Task task;
    task.name = "copy to host";
    task.prepare = [=] {
        if (pinned) {
            needPinned(to, bytes);
        }
        return copyToHost(to, from, bytes);
    };
    task.host = to;
    task.hostBytes = bytes;
    task.writesHost = true;
    issue(stream, std::move(task));
}

int set(Address to, const void* pattern, size_t width, size_t count, void* handle) {
    deviceRange(to, width * count, "target of a memset");
    if (to % width != 0) {
        refuse(INVALID_VALUE, format("target of a memset of %zu bytes each is not aligned", width));
    }
    uint32_t value = 0;
    memcpy(&value, pattern, width);
    Task task;
    task.name = "memset";
    task.run = [=] {
        noteRange(to, width * count, Direction::WRITE);
        for (size_t i = 0; i < count; ++i) {
            memcpy(pointer(to) + i * width, &value, width);
        }
    };
    issue(usableStream(handle), std::move(task));
    return SUCCESS;
}

}  // namespace

SIM_API int cuMemAlloc_v2(Address* address, size_t bytes) {
    return guarded([&] {
        needSafe("cuMemAlloc");
        *address = allocate(currentDevice(), bytes);
        return SUCCESS;
    });
}

SIM_API int cuMemFree_v2(Address address) {
    return guarded([&] {
        needSafe("cuMemFree");
        if (address != 0) {
            synchronizeAll();  // as the driver does
            release(address);
        }
        return SUCCESS;
    });
}

SIM_API int cuMemGetInfo_v2(size_t* unused, size_t* total) {
    return guarded([&] {
        *total = config().memory;
        *unused = config().memory - usedMemory(currentDevice());
        return SUCCESS;
    });
}

SIM_API int cuMemHostAlloc(void** address, size_t bytes, unsigned) {
    return guarded([&] {
        needSafe("cuMemHostAlloc");
        currentDevice();
        *address = allocatePinned(bytes);
        return SUCCESS;
    });
}

SIM_API int cuMemAllocHost_v2(void** address, size_t bytes) {
    return cuMemHostAlloc(address, bytes, 0);
}

SIM_API int cuMemFreeHost(void* address) {
    return guarded([&] {
        needSafe("cuMemFreeHost");
        const Operation* pending = pendingOn(address, 1);
        if (pending != nullptr) {
            refuse(INVALID_VALUE, format("pinned memory %p is freed while %s on %s still uses it", address,
                pending->name.c_str(), pending->stream->title.c_str()));
        }
        releasePinned(address);
        return SUCCESS;
    });
}

SIM_API int cuMemHostGetDevicePointer_v2(Address*, void*, unsigned) {
    return guarded([&]() -> int {
        refuse(NOT_SUPPORTED, "kernels of the simulated machine do not reach memory of the host");
    });
}

SIM_API int cuMemcpyHtoDAsync_v2(Address to, const void* from, size_t bytes, void* handle) {
    return guarded([&] {
        deviceRange(to, bytes, "target of a copy to the device");
        needHost(from, "source of a copy to the device");
        Stream* stream = usableStream(handle);
        if (isPinned(from, bytes)) {
            issuePinned(stream, to, from, bytes);
        } else {
            needNotCapturing(stream, "cuMemcpyHtoDAsync from memory that is not pinned");
            issueStaged(stream, to, from, bytes);
        }
        return SUCCESS;
    });
}

SIM_API int cuMemcpyDtoHAsync_v2(void* to, Address from, size_t bytes, void* handle) {
    return guarded([&] {
        deviceRange(from, bytes, "source of a copy to the host");
        needHost(to, "target of a copy to the host");
        Stream* stream = usableStream(handle);
        if (!isPinned(to, bytes)) {
            needNotCapturing(stream, "cuMemcpyDtoHAsync to memory that is not pinned");
        }
        issueToHost(stream, to, from, bytes);
        if (!isPinned(to, bytes)) {
            synchronize(stream);
        }
        return SUCCESS;
    });
}

SIM_API int cuMemcpyHtoD_v2(Address to, const void* from, size_t bytes) {
    return guarded([&] {
        needSafe("cuMemcpyHtoD");
        deviceRange(to, bytes, "target of a copy to the device");
        needHost(from, "source of a copy to the device");
        Stream* stream = usableStream(nullptr);
        issueStaged(stream, to, from, bytes);
        synchronize(stream);
        return SUCCESS;
    });
}

SIM_API int cuMemcpyDtoH_v2(void* to, Address from, size_t bytes) {
    return guarded([&] {
        needSafe("cuMemcpyDtoH");
        deviceRange(from, bytes, "source of a copy to the host");
        needHost(to, "target of a copy to the host");
        Stream* stream = usableStream(nullptr);
        issueToHost(stream, to, from, bytes);
        synchronize(stream);
        return SUCCESS;
    });
}

SIM_API int cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes, void* handle) {
    return guarded([&] {
        deviceRange(to, bytes, "target of a copy on the device");
        deviceRange(from, bytes, "source of a copy on the device");
        Task task;
        task.name = "copy on device";
        task.run = [=] {
            noteRange(from, bytes, Direction::READ);
            noteRange(to, bytes, Direction::WRITE);
            memmove(pointer(to), pointer(from), bytes);
        };
        issue(usableStream(handle), std::move(task));
        return SUCCESS;
    });
}

SIM_API int cuMemsetD8Async(Address to, unsigned char value, size_t count, void* stream) {
    return guarded([&] { return set(to, &value, 1, count, stream); });
}

SIM_API int cuMemsetD32Async(Address to, unsigned value, size_t count, void* stream) {
    return guarded([&] { return set(to, &value, sizeof value, count, stream); });
}

SIM_API int sim_is_device_memory(const void* address, size_t bytes) {
    std::lock_guard<std::recursive_mutex> hold(machineLock());
    Address a = reinterpret_cast<Address>(address);
    const Allocation* found = allocationAt(a);
    return found != nullptr && bytes <= found->bytes - (a - found->base);
}
