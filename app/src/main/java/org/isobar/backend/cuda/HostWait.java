package org.isobar.backend.cuda;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;

/**
 * How the host waits for a GPU. Alone, it leaves that to the driver. Where other ranks take part, what it waits for may
 * never come: then it looks again and again, and asks guards, which throw if they know of that.
 */
final class HostWait {
    private static final int SPINS = 1000;
    private static final long PAUSE_NANOS = 20_000;

    private final List<Runnable> guards = new CopyOnWriteArrayList<>();

    /** From now on {@code guard} is asked, on the thread that waits. */
    void add(Runnable guard) {
        guards.add(guard);
    }

    /** {@code guard} is asked no more. */
    void remove(Runnable guard) {
        guards.remove(guard);
    }

    /** Returns when the work that the event stands for is done; throws what a guard throws. */
    void until(CudaEvent event) {
        if (guards.isEmpty()) {
            event.synchronize();
            return;
        }
        for (int look = 0; !event.reached(); look++) {
            guards.forEach(Runnable::run);
            if (look < SPINS) {
                Thread.onSpinWait();
            } else {
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
        guards.forEach(Runnable::run);
    }
}
