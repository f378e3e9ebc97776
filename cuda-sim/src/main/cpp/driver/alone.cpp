#include "alone.h"

#include <chrono>
#include <thread>

#include "api.h"
#include "streams.h"

namespace sim {
namespace {

using Time = std::chrono::steady_clock;

constexpr std::chrono::milliseconds TICK(1);
constexpr std::chrono::milliseconds A_WHILE(20);

Time::time_point latest;

bool advanceOne() {
    std::lock_guard<std::recursive_mutex> hold(machineLock());
    if (deviceError() != SUCCESS || Time::now() - latest < A_WHILE) {
        return false;
    }
    try {
        return advanceAwaited();
    } catch (const Failure& failure) {
        report(failure);
        return false;
    }
}

struct Alone {
    Alone() {
        std::thread([] {
            for (;;) {
                if (!advanceOne()) {
                    std::this_thread::sleep_for(TICK);
                }
            }
        }).detach();
    }

    // At exit, takes the machine's lock and keeps it, so that the thread does not use destroyed objects.
    ~Alone() {
        machineLock().lock();
    }
};

}  // namespace

void goOnAlone() {
    static Alone alone;
}

void noteCall() {
    latest = Time::now();
}

}  // namespace sim
