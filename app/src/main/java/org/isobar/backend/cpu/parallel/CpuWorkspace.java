package org.isobar.backend.cpu.parallel;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Scratch memory of a device for one operation at a time: partial sums, tiles, repacked operands. Only the thread that
 * issues the operations requests memory; the tasks of an operation may share it. If reserved before the first step, it
 * allocates nothing during a step.
 */
public final class CpuWorkspace implements AutoCloseable {
    /** Maximum number of chunks into which an operation cuts the rows that it sums over. */
    public static final int CHUNKS = 64;

    public static final long CACHE_LINE = 64;

    private Arena arena = Arena.ofShared();
    private MemorySegment memory = arena.allocate(CACHE_LINE, CACHE_LINE);

    /** Allocates at least {@code bytes} bytes. */
    public void reserve(long bytes) {
        bytes(bytes);
    }

    /**
     * Returns memory for {@code chunks} consecutive rows of {@code width} doubles. Contents are undefined and valid
     * until the next request. The workspace grows if it is too small; during operations this happens at most on first
     * use.
     */
    public MemorySegment doubles(int chunks, long width) {
        return bytes(Math.multiplyExact(chunks * width, ValueLayout.JAVA_DOUBLE.byteSize()));
    }

    /** Returns memory for {@code count} floats, with the contract of {@link #doubles}. */
    public MemorySegment floats(long count) {
        return bytes(Math.multiplyExact(count, ValueLayout.JAVA_FLOAT.byteSize()));
    }

    /** Bytes allocated. */
    public long bytes() {
        return memory.byteSize();
    }

    private MemorySegment bytes(long bytes) {
        if (bytes > memory.byteSize()) {
            Arena larger = Arena.ofShared();
            try {
                memory = larger.allocate(bytes, CACHE_LINE);
            } catch (OutOfMemoryError full) {
                larger.close();
                throw full;
            }
            arena.close();
            arena = larger;
        }
        return memory.asSlice(0, bytes);
    }

    /** Frees the memory. */
    @Override
    public void close() {
        arena.close();
    }
}
