package org.isobar.data.survey;

import java.util.concurrent.atomic.AtomicLong;

/** Receives the progress of a scan of files. Is called by several threads. */
public interface ScanObserver {
    /**
     * A part of the scan is done.
     *
     * @param done  bytes that were read and written so far
     * @param total bytes of the whole scan
     */
    void done(long done, long total);

    /** Counts the bytes of one scan, and reports their sum. */
    final class Counter {
        private final ScanObserver observer;
        private final long total;
        private final AtomicLong done = new AtomicLong();

        /** Counts to {@code total} bytes. */
        public Counter(ScanObserver observer, long total) {
            this.observer = observer;
            this.total = total;
        }

        /** Notes that some more bytes are done. */
        public void add(long bytes) {
            observer.done(done.addAndGet(bytes), total);
        }
    }
}
