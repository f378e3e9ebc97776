package org.isobar.backend.cuda;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.charset.StandardCharsets;
import java.util.Optional;

import org.isobar.device.Ranges;

/**
 * Ranges that Nsight Systems shows, through NVTX, and its window of recording, through the driver. The library of NVTX
 * for other languages than C comes with the CUDA toolkit; where it is absent, no ranges are marked. Belongs to the
 * thread that issues the operations.
 */
final class NvtxRanges implements Ranges {
    /** The library, as the loader finds it. */
    static final String LIBRARY = "libnvtx3interop.so.1";
    private static final int LONGEST_NAME = 127;

    private final Optional<MethodHandle> push;
    private final Optional<MethodHandle> pop;
    private final Optional<MethodHandle> start;
    private final Optional<MethodHandle> stop;
    private final MemorySegment text = Arena.ofAuto().allocate(LONGEST_NAME + 1);
    private final Range open;

    private NvtxRanges(SymbolLookup nvtx, SymbolLookup driver) {
        push = function(nvtx, "nvtxRangePushA", ValueLayout.ADDRESS);
        pop = function(nvtx, "nvtxRangePop");
        start = function(driver, "cuProfilerStart");
        stop = function(driver, "cuProfilerStop");
        open = () -> pop.ifPresent(NvtxRanges::call);
    }

    /** Ranges as far as the libraries at hand know them. */
    static NvtxRanges load() {
        return new NvtxRanges(library(LIBRARY), library("libcuda.so.1"));
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

    /** The profiler copies the text, so one place serves all ranges. */
    private void push(MethodHandle function, String name) {
        byte[] bytes = name.getBytes(StandardCharsets.UTF_8);
        int length = Math.min(bytes.length, LONGEST_NAME);
        MemorySegment.copy(bytes, 0, text, ValueLayout.JAVA_BYTE, 0, length);
        text.set(ValueLayout.JAVA_BYTE, length, (byte) 0);
        try {
            int depth = (int) function.invokeExact(text); // nobody minds if no profiler counts
        } catch (Throwable thrown) { // MethodHandle declares it; a downcall throws nothing
            throw new AssertionError(thrown);
        }
    }

    /** Without a profiler, the driver's functions do nothing and answer with an error: it is not one. */
    private static void call(MethodHandle function) {
        try {
            int status = (int) function.invokeExact();
        } catch (Throwable thrown) {
            throw new AssertionError(thrown);
        }
    }

    @SuppressWarnings("restricted") // native code can crash the process; here is where it is trusted
    private static SymbolLookup library(String name) {
        try {
            return SymbolLookup.libraryLookup(name, Arena.global());
        } catch (IllegalArgumentException absent) {
            return symbol -> Optional.empty();
        }
    }

    @SuppressWarnings("restricted")
    private static Optional<MethodHandle> function(SymbolLookup library, String name, MemoryLayout... arguments) {
        return library.find(name).map(address -> Linker.nativeLinker().downcallHandle(address,
            FunctionDescriptor.of(ValueLayout.JAVA_INT, arguments)));
    }
}
