package org.isobar.backend.cpu.onednn;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.SymbolLookup;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;
import java.nio.file.Path;

import org.bytedeco.dnnl.global.dnnl;
import org.bytedeco.dnnl.memory;
import org.bytedeco.dnnl.primitive_attr;
import org.bytedeco.javacpp.Loader;
import org.isobar.backend.cpu.product.Matrix;
import org.isobar.device.ops.WriteMode;
import org.isobar.fault.UserException;
import org.isobar.os.NativeCache;
import org.isobar.tensor.DType;

/**
 * oneDNN's functions, each of which runs on the calling thread: direct matrix products, and the primitives that {@link
 * OneDnnPacking} and {@link OneDnnMatmul} compile. JavaCPP extracts and loads the library. Functions called in each
 * training step go through {@code java.lang.foreign}, which takes plain addresses and allocates nothing.
 *
 * <p>By default oneDNN splits a product, and its sums, over as many threads as OpenMP allows. OpenMP keeps this limit
 * per calling thread, so each call sets it to one. This costs a store; a product takes microseconds.
 *
 * <p>The AVX-512 kernel of {@code dnnl_sgemm} (oneDNN 3.11) leaves the stack pointer where a signal handler's frame
 * overwrites the heap: a profiler that interrupts the thread corrupts the process. Therefore asynchronous signals are
 * blocked while it runs. Primitives do not have this defect and run with signals unblocked.
 */
public final class OneDnn {
    /** oneDNN's argument indices of a primitive's operands. */
    static final int LEFT = dnnl.DNNL_ARG_SRC;
    static final int RIGHT = dnnl.DNNL_ARG_WEIGHTS;
    static final int RESULT = dnnl.DNNL_ARG_DST;
    static final int BIAS = dnnl.DNNL_ARG_BIAS;
    static final int FROM = dnnl.DNNL_ARG_FROM;
    static final int TO = dnnl.DNNL_ARG_TO;
    static final int SCRATCH = dnnl.DNNL_ARG_SCRATCHPAD;

    private static final byte PLAIN = 'N';
    private static final byte TRANSPOSED = 'T';
    private static final long SIGNAL_SET_BYTES = 128; // sizeof(sigset_t)
    private static final long SIGNALS = asynchronousSignals();
    /** Per thread, the signal mask from before the current call. */
    private static final ThreadLocal<MemorySegment> BLOCKED_BEFORE =
        ThreadLocal.withInitial(() -> Arena.ofAuto().allocate(SIGNAL_SET_BYTES, Long.BYTES));
    private static final int BLOCK = 0; // SIG_BLOCK
    private static final int SET = 2; // SIG_SETMASK
    private static final long NOWHERE = 0;

    /**
     * Handles of the native functions. This class may be initialized only after {@link #load} has loaded the library.
     */
    private static final class Functions {
        static final MethodHandle SGEMM;
        static final MethodHandle SET_OPENMP_THREADS = handle("omp_set_num_threads",
            FunctionDescriptor.ofVoid(ValueLayout.JAVA_INT));
        static final MethodHandle SET_DATA_HANDLE = handle("dnnl_memory_set_data_handle",
            FunctionDescriptor.of(ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));
        static final MethodHandle EXECUTE = handle("dnnl_primitive_execute", FunctionDescriptor.of(ValueLayout.JAVA_INT,
            ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG));
        static final MethodHandle MASK_SIGNALS = handle("pthread_sigmask", FunctionDescriptor.of(ValueLayout.JAVA_INT,
            ValueLayout.JAVA_INT, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));

        static {
            MemoryLayout flag = ValueLayout.JAVA_BYTE;
            MemoryLayout extent = ValueLayout.JAVA_LONG;
            MemoryLayout address = ValueLayout.JAVA_LONG;
            MemoryLayout factor = ValueLayout.JAVA_FLOAT;
            SGEMM = handle("dnnl_sgemm", FunctionDescriptor.of(ValueLayout.JAVA_INT, flag, flag, extent, extent,
                extent, factor, address, extent, address, extent, factor, address, extent));
        }
    }

    /** Makes the library compile all kernels of {@code dnnl_sgemm}, as its first call does, on a thread of its own. */
    private static final class Compilation {
        private static final int ROWS = 64;

        static {
            Thread.ofPlatform().daemon().name("isobar-compile").start(() -> {
                try (Arena arena = Arena.ofConfined()) {
                    Matrix a = Matrix.of(arena.allocate(ROWS * ROWS * Float.BYTES, Float.BYTES), ROWS);
                    Matrix c = Matrix.of(arena.allocate(ROWS * ROWS * Float.BYTES, Float.BYTES), ROWS);
                    product(c, ROWS, ROWS, ROWS, a, a, WriteMode.OVERWRITE);
                }
            });
        }

        /** The first call initializes the class. */
        static void start() { }
    }

    private OneDnn() { }

    /**
     * Loads the library, with the libgomp from the same jar. After the first call, further calls do nothing.
     *
     * @throws UserException if the library cannot be loaded on this machine, or its directory is not private
     */
    public static void load() {
        Path cache = NativeCache.prepare(System.getenv());
        try {
            Loader.load(dnnl.class);
        } catch (LinkageError failure) {
            throw new UserException("cannot load oneDNN, the library of matrix products, on " + Loader.getPlatform()
                + ": " + failure.getMessage() + "; there are builds for linux-x86_64 and linux-arm64, and Maven takes "
                + "that of the machine it runs on: build here. " + NativeCache.advice(cache), failure);
        }
    }

    /** Starts to compile what {@link #product} runs, on another thread and only once. */
    public static void compileAhead() {
        Compilation.start();
    }

    /**
     * Computes {@code c = a b} or {@code c += a b}.
     *
     * @param c (m, n), not transposed
     * @param m rows of {@code a}
     * @param n columns of {@code b}
     * @param k columns of {@code a} and rows of {@code b}
     * @param a (m, k)
     * @param b (k, n)
     */
    public static void product(Matrix c, long m, long n, long k, Matrix a, Matrix b, WriteMode write) {
        int status;
        long before = BLOCKED_BEFORE.get().address(); // the thread-local keeps the segment alive
        try {
            Functions.SET_OPENMP_THREADS.invokeExact(1);
            int masked = (int) Functions.MASK_SIGNALS.invokeExact(BLOCK, SIGNALS, before);
            assert masked == 0;
            status = (int) Functions.SGEMM.invokeExact(flag(a), flag(b), m, n, k, 1f, a.address(), a.stride(),
                b.address(), b.stride(), write == WriteMode.ADD ? 1f : 0f, c.address(), c.stride());
            int unmasked = (int) Functions.MASK_SIGNALS.invokeExact(SET, before, NOWHERE);
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
     * Describes a matrix (rows, columns) whose stored rows, or columns if transposed, are {@code stride} elements
     * apart.
     */
    static memory.desc plain(DType dtype, long rows, long columns, long stride, boolean transposed) {
        return new memory.desc(new long[] {rows, columns}, type(dtype),
            transposed ? new long[] {1, stride} : new long[] {stride, 1});
    }

    /** Describes a tensor whose elements are at the given strides, in elements. */
    static memory.desc strided(DType dtype, long[] extents, long[] strides) {
        return new memory.desc(extents, type(dtype), strides);
    }

    /** Describes a matrix (rows, columns) in a layout that the primitive chooses. */
    static memory.desc any(DType dtype, long rows, long columns) {
        return new memory.desc(new long[] {rows, columns}, type(dtype), memory.format_tag.any);
    }

    private static memory.data_type type(DType dtype) {
        return switch (dtype) {
            case F32 -> memory.data_type.f32;
            case BF16 -> memory.data_type.bf16;
            default -> throw new IllegalArgumentException("products in " + dtype);
        };
    }

    /**
     * Returns attributes that let the caller supply scratch memory. The library's own belongs to the thread that
     * created the primitive.
     */
    static primitive_attr attributes() {
        primitive_attr attributes = new primitive_attr();
        attributes.set_scratchpad_mode(dnnl.scratchpad_mode.user);
        return attributes;
    }

    /** Limits OpenMP to one thread for whatever the calling thread compiles or runs next. */
    static void useThisThreadAlone() {
        try {
            Functions.SET_OPENMP_THREADS.invokeExact(1);
        } catch (Throwable thrown) {
            throw new AssertionError(thrown);
        }
    }

    /** Sets the data address of a {@code dnnl_memory_t}. */
    static void setHandle(long memory, long address) {
        try {
            int status = (int) Functions.SET_DATA_HANDLE.invokeExact(memory, address);
            assert status == dnnl.dnnl_success;
        } catch (Throwable thrown) {
            throw new AssertionError(thrown);
        }
    }

    /** Runs a primitive on the calling thread alone. */
    static void execute(long primitive, long stream, int count, long arguments) {
        int status;
        try {
            Functions.SET_OPENMP_THREADS.invokeExact(1);
            status = (int) Functions.EXECUTE.invokeExact(primitive, stream, count, arguments);
        } catch (Throwable thrown) {
            throw new AssertionError(thrown);
        }
        if (status != dnnl.dnnl_success) {
            throw new IllegalStateException("oneDNN answered status " + status + " to a primitive");
        }
    }

    /**
     * Returns the address of a {@code sigset_t} with all signals except those that a fault of the thread itself raises.
     */
    private static long asynchronousSignals() {
        MemorySegment set = Arena.global().allocate(SIGNAL_SET_BYTES, Long.BYTES);
        long signals = -1;
        for (int kept : new int[] {4, 5, 7, 8, 11}) { // SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV
            signals &= ~(1L << (kept - 1));
        }
        set.set(ValueLayout.JAVA_LONG, 0, signals);
        return set.address();
    }

    private static byte flag(Matrix matrix) {
        return matrix.transposed() ? TRANSPOSED : PLAIN;
    }

    @SuppressWarnings("restricted") // native code can crash the process; it is trusted here
    private static MethodHandle handle(String name, FunctionDescriptor descriptor) {
        SymbolLookup symbols = SymbolLookup.loaderLookup().or(Linker.nativeLinker().defaultLookup());
        return Linker.nativeLinker().downcallHandle(symbols.findOrThrow(name), descriptor);
    }
}
