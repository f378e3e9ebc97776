package org.isobar.backend.cpu.parallel;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Scratch memory of a device for one operation at a time: partial sums, tiles, operands in another order. It belongs to
 * the thread that issues the operations; the tasks of an operation may share what that thread took. Reserved before the
 * first step, it allocates nothing in one.
 */
public final class CpuWorkspace implements AutoCloseable {
    /** The most chunks into which an operation cuts the rows that it sums over. */
    public static final int CHUNKS = 64;

    public static final long CACHE_LINE = 64;

    private Arena arena = Arena.ofShared();
    private MemorySegment memory = arena.allocate(CACHE_LINE, CACHE_LINE);

    /** Makes room for {@code bytes} bytes. */
    public void reserve(long bytes) {
        bytes(bytes);
    }

    /**
     * Room for {@code chunks} rows of {@code width} doubles, one row behind the other. The contents are undefined and
     * last until the next call. Grows what is too small: in operations, at most on first use.
     */
    public MemorySegment doubles(int chunks, long width) {
        return bytes(Math.multiplyExact(chunks * width, ValueLayout.JAVA_DOUBLE.byteSize()));
    }

    /** Room for {@code count} floats, under the same terms as {@link #doubles}. */
    public MemorySegment floats(long count) {
        return bytes(Math.multiplyExact(count, ValueLayout.JAVA_FLOAT.byteSize()));
    }

    /** Bytes that there is room for. */
    public long bytes() {
        return memory.byteSize();
    }

    private MemorySegment bytes(long bytes) {
        if (bytes > memory.byteSize()) {
            arena.close();
            arena = Arena.ofShared();
            memory = arena.allocate(bytes, CACHE_LINE);
        }
        return memory.asSlice(0, bytes);
    }

    /** Frees the memory. */
    @Override
    public void close() {
        arena.close();
    }
}
