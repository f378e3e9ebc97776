package org.isobar.backend.cpu;

/**
 * Cuts a range into chunks of a given length for the threads of a pool. The cut depends on the range alone, and so do
 * the bits of whatever is summed within chunks.
 */
final class Chunks {
    /** Length of a chunk of elements: large against the cost of handing it out, small against the caches. */
    static final long ELEMENTS = 1 << 13;

    private Chunks() { }

    /** What is done with the part of a range from {@code from} to {@code to}, exclusive. */
    @FunctionalInterface
    interface Body {
        /** Works on one chunk. */
        void accept(long from, long to);
    }

    /** What is done with the part of a range from {@code from} to {@code to} of one of several equal blocks. */
    @FunctionalInterface
    interface BlockBody {
        /** Works on one chunk. */
        void accept(int block, long from, long to);
    }

    /** Number of chunks in a range. */
    static int count(long range, long length) {
        return Math.toIntExact(Math.ceilDiv(range, length));
    }

    /** Runs {@code body} over the chunks of a range. */
    static void run(WorkerPool pool, long range, long length, Body body) {
        pool.run(count(range, length), chunk -> {
            long from = chunk * length;
            body.accept(from, Math.min(range, from + length));
        });
    }

    /** Runs {@code body} over the chunks of each of {@code blocks} ranges of {@code range}. */
    static void run(WorkerPool pool, long blocks, long range, long length, BlockBody body) {
        int each = count(range, length);
        pool.run(Math.toIntExact(blocks * each), task -> {
            long from = task % each * length;
            body.accept(task / each, from, Math.min(range, from + length));
        });
    }
}
