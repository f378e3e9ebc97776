package org.isobar.os;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * Prefetching of mapped files into the kernel's page cache (madvise(2)), and a count of the disk blocks read for the
 * calling thread (getrusage(2)). Both affect speed only: if a function is missing or fails, the methods do nothing and
 * count nothing.
 */
public final class PageCache {
    /**
     * Bytes of one call of madvise. The kernel limits each call to the read-ahead window of the disk, 128 KiB by
     * default, and ignores the rest of a larger range.
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
     * Tells the kernel to read a part of a mapped file into the page cache, unless it is cached already. Returns when
     * the requests are queued, before the disk has read the data. Cached pages take time too, about 13 microseconds for
     * 1 MB.
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
     * Number of blocks read from disk for the calling thread since it started, by prefetching or by page faults; 0 if
     * the kernel does not count them.
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

    /** A function of the C library; null if it is missing. */
    @SuppressWarnings("restricted") // the descriptors above are those of the manual pages
    private static MethodHandle function(String name, FunctionDescriptor type) {
        Linker linker = Linker.nativeLinker();
        return linker.defaultLookup().find(name).map(address -> linker.downcallHandle(address, type)).orElse(null);
    }
}
