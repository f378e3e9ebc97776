package org.isobar.backend.cpu.attention;

import java.lang.foreign.MemorySegment;

import org.isobar.backend.cpu.parallel.CpuWorkspace;

/**
 * How attention shares out its scratch memory: parts that all threads see, and behind them parts that each thread has
 * for itself, the same for each. Parts are numbered; each begins with a cache line.
 *
 * @param shared where the shared parts begin, in bytes, and where the last one ends
 * @param own    where a thread's own parts begin, in bytes from where the first one begins, and where the last one ends
 */
record AttentionScratch(long[] shared, long[] own) {
    /** Parts of the given sizes, in bytes. */
    static AttentionScratch of(long[] shared, long[] own) {
        return new AttentionScratch(offsets(shared), offsets(own));
    }

    private static long[] offsets(long[] bytes) {
        long[] offsets = new long[bytes.length + 1];
        for (int i = 0; i < bytes.length; i++) {
            offsets[i + 1] = offsets[i] + Math.ceilDiv(bytes[i], CpuWorkspace.CACHE_LINE) * CpuWorkspace.CACHE_LINE;
        }
        return offsets;
    }

    /** All memory that it takes, in floats. */
    long floats(int threads) {
        return (shared[shared.length - 1] + threads * own[own.length - 1]) / Float.BYTES;
    }

    /** A shared part. */
    MemorySegment shared(MemorySegment memory, int part) {
        return memory.asSlice(shared[part], shared[part + 1] - shared[part]);
    }

    /** Everything that a thread has for itself. */
    MemorySegment own(MemorySegment memory, int worker) {
        long bytes = own[own.length - 1];
        return memory.asSlice(shared[shared.length - 1] + worker * bytes, bytes);
    }

    /** A part of what {@link #own(MemorySegment, int)} returned. */
    MemorySegment part(MemorySegment own, int part) {
        return own.asSlice(this.own[part], this.own[part + 1] - this.own[part]);
    }
}
