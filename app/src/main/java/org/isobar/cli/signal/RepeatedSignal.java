package org.isobar.cli.signal;

import java.time.Duration;

/**
 * Distinguishes a signal that the user sends a second time from duplicates of the first. Duplicates arrive because, for
 * example, timeout(1) signals its child and also the child's process group.
 */
public final class RepeatedSignal {
    private static final Duration DUPLICATES = Duration.ofSeconds(1);

    private Place last; // or null
    private long first;

    /**
     * The first request; a duplicate of it, which arrives within a second of the first; or a repeated request, which
     * arrives later.
     */
    public enum Place { FIRST, DUPLICATE, REPEATED }

    /** Classifies a signal that has just arrived. */
    public synchronized Place next() {
        long now = System.nanoTime();
        if (last == null) {
            first = now;
            last = Place.FIRST;
        } else {
            last = now - first < DUPLICATES.toNanos() ? Place.DUPLICATE : Place.REPEATED;
        }
        return last;
    }
}
