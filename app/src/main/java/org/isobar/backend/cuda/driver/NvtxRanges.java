package org.isobar.backend.cuda.driver;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

import org.isobar.device.ProfilerRanges;

/**
 * Profiler ranges for Nsight Systems, through NVTX, and the start and stop of profiling, through the driver. The NVTX
 * interop library comes with the CUDA toolkit; without it no ranges are marked. Any thread may open ranges; NVTX keeps
 * a stack of ranges for each thread.
 */
public final class NvtxRanges implements ProfilerRanges {
    private static final int LONGEST_NAME = 127;
    /** Each thread writes its names to a buffer of its own, again and again, because the profiler copies a name. */
    private static final ThreadLocal<MemorySegment> TEXT =
        ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(LONGEST_NAME + 1));

    private final Optional<MethodHandle> push;
    private final Optional<MethodHandle> pop;
    private final Optional<MethodHandle> start;
    private final Optional<MethodHandle> stop;
    private final Range open;

    /** Ranges that use the functions found in these libraries. */
    NvtxRanges(Optional<SystemLibrary> nvtx, Optional<SystemLibrary> driver) {
        FunctionDescriptor plain = FunctionDescriptor.of(ValueLayout.JAVA_INT);
        push = nvtx.flatMap(library -> library.function("nvtxRangePushA",
            FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.ADDRESS)));
        pop = nvtx.flatMap(library -> library.function("nvtxRangePop", plain));
        start = driver.flatMap(library -> library.function("cuProfilerStart", plain));
        stop = driver.flatMap(library -> library.function("cuProfilerStop", plain));
        open = () -> pop.ifPresent(NvtxRanges::call);
    }

    /** Ranges that use the libraries of this machine. */
    public static NvtxRanges load() {
        return new NvtxRanges(LibrarySearch.find(CudaComponent.NVTX.fileName()),
            LibrarySearch.find(CudaComponent.DRIVER.fileName()));
    }

    @Override
    public Range open(String name) {
        push.ifPresent(function -> push(function, name));
        return open;
    }

    @Override
    public void startProfiler() {
        start.ifPresent(NvtxRanges::call);
    }

    @Override
    public void stopProfiler() {
        stop.ifPresent(NvtxRanges::call);
    }

    private static void push(MethodHandle function, String name) {
        MemorySegment text = TEXT.get();
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        int length = Math.min(bytes.length, LONGEST_NAME);
        MemorySegment.copy(bytes, 0, text, ValueLayout.JAVA_BYTE, 0, length);
        text.set(ValueLayout.JAVA_BYTE, length, (byte) 0);
        try {
            int depth = (int) function.invokeExact(text); // unused; negative without a profiler
        } catch (Throwable thrown) { // MethodHandle declares it; a downcall throws nothing
            throw new AssertionError(thrown);
        }
    }

    /** Ignores the status: without a profiler the functions do nothing and return an error. */
    private static void call(MethodHandle function) {
        try {
            int status = (int) function.invokeExact();
        } catch (Throwable thrown) {
            throw new AssertionError(thrown);
        }
    }
}
