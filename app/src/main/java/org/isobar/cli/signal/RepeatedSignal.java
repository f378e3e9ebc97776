package org.isobar.cli.signal;

import java.time.Duration;

/**
 * Tells a signal that is sent again, because somebody has lost patience, from one that comes in several ways:
 * timeout(1), for one, sends its own to its child and to the child's group.
 */
public final class RepeatedSignal {
    private static final Duration ECHO = Duration.ofSeconds(1);

    private Place last; // or null
    private long first;

    /** What a signal is among those that ask for the same: within a second of the first, no other request. */
    public enum Place { FIRST, ECHO, AGAIN }

    /** The place of the signal that has arrived now. */
    public synchronized Place next() {
        long now = System.nanoTime();
        if (last == null) {
            first = now;
            last = Place.FIRST;
        } else {
            last = now - first < ECHO.toNanos() ? Place.ECHO : Place.AGAIN;
        }
        return last;
    }
}
