package org.isobar.backend.cpu.parallel;

/**
 * Cuts a range into chunks of a given length and runs them on the threads of a pool. The chunks depend only on the
 * range, and therefore so do the bits of sums taken within chunks.
 */
public final class ChunkedRange {
    /** Elements per chunk: enough to amortize the dispatch of a task, few enough to fit in cache. */
    public static final long ELEMENTS = 1 << 13;

    private ChunkedRange() { }

    /** Processes the part of a range from {@code from} (inclusive) to {@code to} (exclusive). */
    @FunctionalInterface
    public interface Body {
        /** Processes one chunk. */
        void accept(long from, long to);
    }

    /**
     * Processes the part of a range from {@code from} (inclusive) to {@code to} (exclusive), given the worker that runs
     * it.
     */
    @FunctionalInterface
    public interface WorkerBody {
        /** Processes one chunk. */
        void accept(int worker, long from, long to);
    }

    /**
     * Processes the part from {@code from} (inclusive) to {@code to} (exclusive) of one of several ranges of equal
     * length.
     */
    @FunctionalInterface
    public interface BlockBody {
        /** Processes one chunk. */
        void accept(int block, long from, long to);
    }

    /** Processes a part of one of several ranges of equal length, given the worker that runs it. */
    @FunctionalInterface
    public interface WorkerBlockBody {
        /** Processes one chunk. */
        void accept(int worker, int block, long from, long to);
    }

    /** Number of chunks in a range. */
    public static int count(long range, long length) {
        return Math.toIntExact(Math.ceilDiv(range, length));
    }

    /** Runs {@code body} on each chunk of a range. */
    public static void run(WorkerPool pool, long range, long length, Body body) {
        run(pool, range, length, (worker, from, to) -> body.accept(from, to));
    }

    /** Runs {@code body} on each chunk of a range. */
    public static void run(WorkerPool pool, long range, long length, WorkerBody body) {
        pool.runApart(count(range, length), (worker, chunk) -> {
            long from = chunk * length;
            body.accept(worker, from, Math.min(range, from + length));
        });
    }

    /** Runs {@code body} on each chunk of {@code blocks} ranges of length {@code range}. */
    public static void run(WorkerPool pool, long blocks, long range, long length, BlockBody body) {
        run(pool, blocks, range, length, (worker, block, from, to) -> body.accept(block, from, to));
    }

    /** Runs {@code body} on each chunk of {@code blocks} ranges of length {@code range}. */
    public static void run(WorkerPool pool, long blocks, long range, long length, WorkerBlockBody body) {
        int each = count(range, length);
        pool.runApart(Math.toIntExact(blocks * each), (worker, task) -> {
            long from = task % each * length;
            body.accept(worker, task / each, from, Math.min(range, from + length));
        });
    }
}
