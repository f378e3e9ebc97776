package org.isobar.backend.cpu.attention;

import java.lang.foreign.MemorySegment;

import org.isobar.backend.cpu.parallel.CpuWorkspace;

/**
 * Layout of attention's scratch memory: parts shared by all threads, followed by the private parts of each thread, with
 * one layout for all threads. Parts are numbered; each starts at a cache line.
 *
 * @param shared byte offsets of the shared parts, then the end of the last one
 * @param own    byte offsets of a thread's private parts from the first of them, then the end of the last one
 */
record AttentionScratch(long[] shared, long[] own) {
    /** Creates a layout of parts of the given sizes, in bytes. */
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

    /** Total size in floats. */
    long floats(int threads) {
        return (shared[shared.length - 1] + threads * own[own.length - 1]) / Float.BYTES;
    }

    /** Returns a shared part. */
    MemorySegment shared(MemorySegment memory, int part) {
        return memory.asSlice(shared[part], shared[part + 1] - shared[part]);
    }

    /** Returns all private memory of a worker. */
    MemorySegment own(MemorySegment memory, int worker) {
        long bytes = own[own.length - 1];
        return memory.asSlice(shared[shared.length - 1] + worker * bytes, bytes);
    }

    /** Returns a part of the memory that {@link #own(MemorySegment, int)} returned. */
    MemorySegment part(MemorySegment own, int part) {
        return own.asSlice(this.own[part], this.own[part + 1] - this.own[part]);
    }
}
