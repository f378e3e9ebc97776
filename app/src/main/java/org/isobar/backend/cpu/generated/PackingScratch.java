package org.isobar.backend.cpu.generated;

import java.lang.foreign.Arena;

import org.isobar.backend.cpu.parallel.CpuWorkspace;

/**
 * Memory of each worker for what a product packs while it runs. A worker runs one product at a time, so all products of
 * a device share it.
 */
public final class PackingScratch implements AutoCloseable {
    private final int workers;
    private Arena arena = Arena.ofShared();
    private long bytes;
    private long address;

    /** Creates scratch memory of no size. */
    public PackingScratch(int workers) {
        this.workers = workers;
    }

    /** Makes room for {@code needed} bytes for each worker. No product may be running. */
    void reserve(long needed) {
        if (needed > bytes) {
            long rounded = Math.ceilDiv(needed, CpuWorkspace.CACHE_LINE) * CpuWorkspace.CACHE_LINE;
            Arena larger = Arena.ofShared();
            try {
                address = larger.allocate(rounded * workers, CpuWorkspace.CACHE_LINE).address();
            } catch (OutOfMemoryError full) {
                larger.close();
                throw full;
            }
            arena.close();
            arena = larger;
            bytes = rounded;
        }
    }

    /** Address of a worker's memory. */
    long address(int worker) {
        assert worker >= 0 && worker < workers : "worker " + worker + " of " + workers;
        return address + worker * bytes;
    }

    @Override
    public void close() {
        arena.close();
    }
}
