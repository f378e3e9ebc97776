package org.isobar.device;

/** Work of the host that was started and may still be running. */
public interface PendingWork {
    /** Work that is done. */
    PendingWork DONE = new PendingWork() {
        @Override
        public void await() { }

        @Override
        public void cancel() { }
    };

    /** Returns when all of the work is done. Rethrows its first failure. */
    void await();

    /**
     * Drops the work that has not begun, and returns when the rest is done. Does not throw its failures. Afterwards the
     * memory that the work uses may be freed.
     */
    void cancel();
}
