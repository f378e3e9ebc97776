package org.isobar.os;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * What one thread and the kernel tell each other of mapped files: which part will be read soon (madvise(2)), and how
 * much the thread has had to have read from disks (getrusage(2)). Nothing depends on the answers but speed. So where a
 * function is missing or refuses, nothing is said, and nothing counted.
 */
public final class PageCache {
    /**
     * The kernel cuts what one call asks for down to the read-ahead window of the disk, 128 KiB unless somebody has set
     * it, and forgets the rest: a larger piece may be read in its first part only.
     */
    private static final long PIECE = 128 << 10;
    private static final int WILL_NEED = 3; // MADV_WILLNEED
    private static final int THREAD = 1; // RUSAGE_THREAD
    private static final long USAGE_BYTES = 144; // struct rusage: two times of two longs, fourteen longs
    private static final long BLOCKS_READ = 88; // offset of ru_inblock
    private static final int SMALLEST_PAGE = 4096;
    private static final MethodHandle ADVISE = function("madvise", FunctionDescriptor.of(ValueLayout.JAVA_INT,
        ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT));
    private static final MethodHandle USAGE = function("getrusage", FunctionDescriptor.of(ValueLayout.JAVA_INT,
        ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG));
    private static final long PAGE = pageBytes();

    private final MemorySegment usage = Arena.ofAuto().allocate(USAGE_BYTES, Long.BYTES);

    /**
     * Has the kernel begin to read a part of a mapped file, all of it at once, as far as it is not in memory. Returns
     * when the disk has taken the requests. Pages that are in memory cost time, too, about 13 microseconds for 1 MB.
     */
    public static void willNeed(MemorySegment mapped, long from, long bytes) {
        assert from >= 0 && from + bytes <= mapped.byteSize() : bytes + " bytes at " + from + " of " + mapped;
        if (ADVISE == null) {
            return;
        }
        long end = mapped.address() + from + bytes;
        for (long start = mapped.address() + from & -PAGE; start < end; start += PIECE) {
            try {
                int _ = (int) ADVISE.invokeExact(start, Math.min(PIECE, end - start), WILL_NEED);
            } catch (Throwable impossible) {
                throw new AssertionError("a C function throws nothing", impossible);
            }
        }
    }

    /**
     * Blocks that disks have read on behalf of the calling thread since it began, be it by advice or for want of a
     * page; 0 where the kernel does not count.
     */
    public long blocksRead() {
        try {
            boolean known = USAGE != null && (int) USAGE.invokeExact(THREAD, usage.address()) == 0;
            return known ? usage.get(ValueLayout.JAVA_LONG, BLOCKS_READ) : 0;
        } catch (Throwable impossible) {
            throw new AssertionError("a C function throws nothing", impossible);
        }
    }

    private static long pageBytes() {
        MethodHandle function = function("getpagesize", FunctionDescriptor.of(ValueLayout.JAVA_INT));
        try {
            return function == null ? SMALLEST_PAGE : (int) function.invokeExact();
        } catch (Throwable impossible) {
            throw new AssertionError("a C function throws nothing", impossible);
        }
    }

    /** A function of the C library; null where it is missing. */
    @SuppressWarnings("restricted") // the descriptors above are those of the manual pages
    private static MethodHandle function(String name, FunctionDescriptor type) {
        Linker linker = Linker.nativeLinker();
        return linker.defaultLookup().find(name).map(address -> linker.downcallHandle(address, type)).orElse(null);
    }
}
