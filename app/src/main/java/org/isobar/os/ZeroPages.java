package org.isobar.os;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * Large blocks of memory, which the kernel fills with zeros page by page when a thread touches them first (mmap(2)). So
 * allocation takes no time, threads that compute share that work, and on a machine with several memory nodes each page
 * is on the node of the thread that writes it first. {@code Arena.allocate} writes zeros to all pages at once.
 */
public final class ZeroPages {
    private static final MethodHandle MAP = function("mmap", FunctionDescriptor.of(ValueLayout.JAVA_LONG,
        ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT,
        ValueLayout.JAVA_LONG));
    private static final MethodHandle UNMAP = function("munmap", FunctionDescriptor.of(ValueLayout.JAVA_INT,
        ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));
    private static final long ANYWHERE = 0;
    private static final int READ_WRITE = 3;
    private static final int PRIVATE_ANONYMOUS = 0x22; // Linux on x86-64 and ARM
    private static final int NO_FILE = -1;
    private static final long FAILED = -1;

    private ZeroPages() { }

    /**
     * Allocates memory that starts with a page. Closing the arena frees it.
     *
     * @throws OutOfMemoryError if the system refuses so much memory, as with a limit on address space
     */
    @SuppressWarnings("restricted") // the segment has the extent that mmap was asked for
    public static MemorySegment allocate(Arena arena, long bytes) {
        if (bytes == 0) {
            return arena.allocate(0);
        }
        try {
            long address = (long) MAP.invokeExact(ANYWHERE, bytes, READ_WRITE, PRIVATE_ANONYMOUS, NO_FILE, 0L);
            if (address == FAILED) {
                throw new OutOfMemoryError("the system refuses " + bytes + " bytes of memory");
            }
            return MemorySegment.ofAddress(address).reinterpret(bytes, arena, ZeroPages::free);
        } catch (RuntimeException | Error thrown) {
            throw thrown;
        } catch (Throwable impossible) {
            throw new AssertionError("a C function throws nothing", impossible);
        }
    }

    private static void free(MemorySegment pages) {
        try {
            int status = (int) UNMAP.invokeExact(pages.address(), pages.byteSize());
            assert status == 0;
        } catch (Throwable impossible) {
            throw new AssertionError("a C function throws nothing", impossible);
        }
    }

    @SuppressWarnings("restricted") // the descriptors above are those of the manual pages
    private static MethodHandle function(String name, FunctionDescriptor type) {
        Linker linker = Linker.nativeLinker();
        return linker.downcallHandle(linker.defaultLookup().findOrThrow(name), type);
    }
}
