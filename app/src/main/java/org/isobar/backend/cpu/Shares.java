package org.isobar.backend.cpu;

import java.lang.foreign.MemorySegment;

/**
 * Scratch memory for each worker of a pool: a few rows of floats.
 *
 * @param memory all of it
 * @param rows   rows of one worker
 * @param length floats of a row
 */
record Shares(MemorySegment memory, int rows, long length) {
    /** Takes it from a workspace. */
    static Shares of(Workspace workspace, WorkerPool pool, int rows, long length) {
        return new Shares(workspace.floats(pool.threads() * rows * length), rows, length);
    }

    /** One of the worker's rows. */
    MemorySegment row(int worker, int row) {
        long first = (worker * rows + row) * length;
        return Lanes.slice(memory, first, first + length);
    }
}
