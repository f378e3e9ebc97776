package org.isobar.backend.cpu.vector;

import java.lang.foreign.MemorySegment;

import org.isobar.backend.cpu.parallel.CpuWorkspace;
import org.isobar.backend.cpu.parallel.WorkerPool;

/**
 * Scratch memory for each worker of a pool: a few rows of floats.
 *
 * @param memory all of it
 * @param rows   rows of one worker
 * @param length floats of a row
 */
public record WorkerScratch(MemorySegment memory, int rows, long length) {
    /** Takes it from a workspace. */
    public static WorkerScratch of(CpuWorkspace workspace, WorkerPool pool, int rows, long length) {
        return new WorkerScratch(workspace.floats(pool.threads() * rows * length), rows, length);
    }

    /** One of the worker's rows. */
    public MemorySegment row(int worker, int row) {
        long first = (worker * rows + row) * length;
        return Lanes.slice(memory, first, first + length);
    }
}
