package org.isobar.backend.cpu;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.javacpp.Loader;
import org.isobar.device.Write;
import org.isobar.fault.UserException;

/**
 * Matrix products by oneDNN, each on the thread that asks for it. JavaCPP brings and loads the library; the one
 * function that is used is called through {@code java.lang.foreign}, which takes addresses as they are and allocates
 * nothing.
 *
 * <p>oneDNN would split a product, and its sums, over as many threads as OpenMP allows. The limit is a property of the
 * calling thread, so each call sets it: a store, against microseconds of product.
 *
 * <p>The AVX-512 kernel of {@code dnnl_sgemm} (oneDNN 3.11) leaves the stack pointer where a signal handler's frame
 * overwrites the heap: a profiler that interrupts the thread corrupts the process. So signals wait while it runs.
 */
final class OneDnn {
    private static final byte PLAIN = 'N';
    private static final byte TRANSPOSED = 'T';
    private static final MemorySegment SIGNALS = asynchronousSignals();
    private static final int BLOCK = 0; // SIG_BLOCK
    private static final int UNBLOCK = 1; // SIG_UNBLOCK

    /** The functions that are called; to be touched when {@link #load} has loaded the library. */
    private static final class Functions {
        static final MethodHandle SGEMM;
        static final MethodHandle SET_OPENMP_THREADS = handle("omp_set_num_threads",
            FunctionDescriptor.ofVoid(ValueLayout.JAVA_INT));
        static final MethodHandle MASK_SIGNALS = handle("pthread_sigmask", FunctionDescriptor.of(ValueLayout.JAVA_INT,
            ValueLayout.JAVA_INT, ValueLayout.ADDRESS, ValueLayout.ADDRESS));

        static {
            MemoryLayout flag = ValueLayout.JAVA_BYTE;
            MemoryLayout extent = ValueLayout.JAVA_LONG;
            MemoryLayout address = ValueLayout.JAVA_LONG;
            MemoryLayout factor = ValueLayout.JAVA_FLOAT;
            SGEMM = handle("dnnl_sgemm", FunctionDescriptor.of(ValueLayout.JAVA_INT, flag, flag, extent, extent,
                extent, factor, address, extent, address, extent, factor, address, extent));
        }
    }

    private OneDnn() { }

    /**
     * Loads the library, with the libgomp that comes in the same jar. Once for all: later calls do nothing.
     *
     * @throws UserException if it cannot be loaded here
     */
    static void load() {
        try {
            Loader.load(dnnl.class);
        } catch (LinkageError failure) {
            throw new UserException("cannot load oneDNN, the library of matrix products, on " + Loader.getPlatform()
                + ": " + failure.getMessage() + "; there are builds for linux-x86_64 and linux-arm64, and Maven takes "
                + "that of the machine it runs on: build here. The library is unpacked in ~/.javacpp, which must be "
                + "writable and not mounted noexec; else set JAVA_TOOL_OPTIONS=-Dorg.bytedeco.javacpp.cachedir=DIR",
                failure);
        }
    }

    /**
     * {@code c = scale a b}, or {@code c += scale a b}.
     *
     * @param c     (m, n), not transposed
     * @param m     rows of {@code a}
     * @param n     columns of {@code b}
     * @param k     columns of {@code a} and rows of {@code b}
     * @param a     (m, k)
     * @param b     (k, n)
     * @param scale factor on the product
     */
    static void product(Matrix c, long m, long n, long k, Matrix a, Matrix b, float scale, Write write) {
        int status;
        try {
            Functions.SET_OPENMP_THREADS.invokeExact(1);
            int masked = (int) Functions.MASK_SIGNALS.invokeExact(BLOCK, SIGNALS, MemorySegment.NULL);
            assert masked == 0;
            status = (int) Functions.SGEMM.invokeExact(flag(a), flag(b), m, n, k, scale, a.address(), a.stride(),
                b.address(), b.stride(), write == Write.ADD ? 1f : 0f, c.address(), c.stride());
            int unmasked = (int) Functions.MASK_SIGNALS.invokeExact(UNBLOCK, SIGNALS, MemorySegment.NULL);
            assert unmasked == 0;
        } catch (Throwable thrown) { // MethodHandle declares it; a downcall throws nothing
            throw new AssertionError(thrown);
        }
        if (status != dnnl.dnnl_success) {
            throw new IllegalStateException("oneDNN answered status " + status + " to a product of (" + m + ", " + k
                + ") and (" + k + ", " + n + ")");
        }
    }

    /**
     * A {@code sigset_t} of all signals but those that a fault of the thread itself raises, and SIGQUIT, which the JVM
     * keeps blocked on every thread but one.
     */
    private static MemorySegment asynchronousSignals() {
        MemorySegment set = Arena.global().allocate(128, Long.BYTES);
        long signals = -1;
        for (int kept : new int[] {3, 4, 5, 7, 8, 11}) { // SIGQUIT, SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV
            signals &= ~(1L << (kept - 1));
        }
        set.set(ValueLayout.JAVA_LONG, 0, signals);
        return set;
    }

    private static byte flag(Matrix matrix) {
        return matrix.transposed() ? TRANSPOSED : PLAIN;
    }

    @SuppressWarnings("restricted") // native code can crash the process; here is where it is trusted
    private static MethodHandle handle(String name, FunctionDescriptor descriptor) {
        SymbolLookup symbols = SymbolLookup.loaderLookup().or(Linker.nativeLinker().defaultLookup());
        return Linker.nativeLinker().downcallHandle(symbols.findOrThrow(name), descriptor);
    }
}
