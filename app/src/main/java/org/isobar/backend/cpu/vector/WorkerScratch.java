package org.isobar.backend.cpu.vector;

import java.lang.foreign.MemorySegment;

import org.isobar.backend.cpu.parallel.CpuWorkspace;
import org.isobar.backend.cpu.parallel.WorkerPool;

/**
 * Scratch memory of each worker of a pool: several rows of floats.
 *
 * @param memory memory of all workers
 * @param rows   rows per worker
 * @param length floats per row
 */
public record WorkerScratch(MemorySegment memory, int rows, long length) {
    /** Takes the memory from a workspace. */
    public static WorkerScratch of(CpuWorkspace workspace, WorkerPool pool, int rows, long length) {
        return new WorkerScratch(workspace.floats(pool.threads() * rows * length), rows, length);
    }

    /** Returns one row of the worker. */
    public MemorySegment row(int worker, int row) {
        long first = (worker * rows + row) * length;
        return Lanes.slice(memory, first, first + length);
    }
}
