package org.isobar.device;

/** Work of the host that was started and may still be running. */
@FunctionalInterface
public interface PendingWork {
    /** Work that is done. */
    PendingWork DONE = () -> { };

    /** Returns when all of the work is done. Rethrows its first failure. */
    void await();
}
