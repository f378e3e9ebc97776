package org.isobar.backend.cpu.parallel;

/**
 * Cuts a range into chunks of a given length for the threads of a pool. The cut depends on the range alone, and so do
 * the bits of whatever is summed within chunks.
 */
public final class ChunkedRange {
    /** Length of a chunk of elements: large against the cost of handing it out, small against the caches. */
    public static final long ELEMENTS = 1 << 13;

    private ChunkedRange() { }

    /** What is done with the part of a range from {@code from} to {@code to}, exclusive. */
    @FunctionalInterface
    public interface Body {
        /** Works on one chunk. */
        void accept(long from, long to);
    }

    /** What is done, and by which worker, with the part of a range from {@code from} to {@code to}, exclusive. */
    @FunctionalInterface
    public interface WorkerBody {
        /** Works on one chunk. */
        void accept(int worker, long from, long to);
    }

    /** What is done with the part of a range from {@code from} to {@code to} of one of several equal blocks. */
    @FunctionalInterface
    public interface BlockBody {
        /** Works on one chunk. */
        void accept(int block, long from, long to);
    }

    /** What is done, and by which worker, with the part of a range of one of several equal blocks. */
    @FunctionalInterface
    public interface WorkerBlockBody {
        /** Works on one chunk. */
        void accept(int worker, int block, long from, long to);
    }

    /** Number of chunks in a range. */
    public static int count(long range, long length) {
        return Math.toIntExact(Math.ceilDiv(range, length));
    }

    /** Runs {@code body} over the chunks of a range. */
    public static void run(WorkerPool pool, long range, long length, Body body) {
        run(pool, range, length, (worker, from, to) -> body.accept(from, to));
    }

    /** Runs {@code body} over the chunks of a range. */
    public static void run(WorkerPool pool, long range, long length, WorkerBody body) {
        pool.runApart(count(range, length), (worker, chunk) -> {
            long from = chunk * length;
            body.accept(worker, from, Math.min(range, from + length));
        });
    }

    /** Runs {@code body} over the chunks of each of {@code blocks} ranges of {@code range}. */
    public static void run(WorkerPool pool, long blocks, long range, long length, BlockBody body) {
        run(pool, blocks, range, length, (worker, block, from, to) -> body.accept(block, from, to));
    }

    /** Runs {@code body} over the chunks of each of {@code blocks} ranges of {@code range}. */
    public static void run(WorkerPool pool, long blocks, long range, long length, WorkerBlockBody body) {
        int each = count(range, length);
        pool.runApart(Math.toIntExact(blocks * each), (worker, task) -> {
            long from = task % each * length;
            body.accept(worker, task / each, from, Math.min(range, from + length));
        });
    }
}
