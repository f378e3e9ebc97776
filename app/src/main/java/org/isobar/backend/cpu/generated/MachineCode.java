package org.isobar.backend.cpu.generated;

import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.Linker;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.lang.invoke.MethodHandle;

/**
 * A function in memory that the processor executes. The memory is written first and made executable afterwards, so that
 * it is never both writable and executable.
 */
final class MachineCode implements AutoCloseable {
    private static final Linker LINKER = Linker.nativeLinker();
    private static final FunctionDescriptor FUNCTION = FunctionDescriptor.of(ValueLayout.JAVA_LONG,
        ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG,
        ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG);
    private static final MethodHandle CALL = call(FUNCTION);
    /** For functions whose last four arguments are on the stack. */
    private static final MethodHandle LONG_CALL = call(FUNCTION.appendArgumentLayouts(ValueLayout.JAVA_LONG,
        ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));
    private static final MethodHandle MMAP = function("mmap", FunctionDescriptor.of(ValueLayout.JAVA_LONG,
        ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT, ValueLayout.JAVA_INT,
        ValueLayout.JAVA_LONG));
    private static final MethodHandle MPROTECT = function("mprotect", FunctionDescriptor.of(ValueLayout.JAVA_INT,
        ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG, ValueLayout.JAVA_INT));
    private static final MethodHandle MUNMAP = function("munmap", FunctionDescriptor.of(ValueLayout.JAVA_INT,
        ValueLayout.JAVA_LONG, ValueLayout.JAVA_LONG));

    private static final long ANYWHERE = 0;
    private static final int READ = 1;
    private static final int WRITE = 2;
    private static final int EXECUTE = 4;
    private static final int PRIVATE_ANONYMOUS = 0x22;
    private static final int NO_FILE = -1;
    private static final long FAILED = -1;

    private final MemorySegment code;

    /**
     * Makes a function of the System V ABI with up to ten arguments of 64 bits.
     *
     * @throws IllegalStateException if the system refuses executable memory
     */
    @SuppressWarnings("restricted") // the segment has the extent that mmap was asked for
    MachineCode(byte[] bytes) {
        try {
            long address = (long) MMAP.invokeExact(ANYWHERE, (long) bytes.length, READ | WRITE, PRIVATE_ANONYMOUS,
                NO_FILE, 0L);
            if (address == FAILED) {
                throw new IllegalStateException("the system refuses " + bytes.length + " bytes of memory");
            }
            code = MemorySegment.ofAddress(address).reinterpret(bytes.length);
            code.copyFrom(MemorySegment.ofArray(bytes));
            int status = (int) MPROTECT.invokeExact(address, (long) bytes.length, READ | EXECUTE);
            if (status != 0) {
                close();
                throw new IllegalStateException("the system refuses executable memory");
            }
        } catch (RuntimeException | Error thrown) {
            throw thrown;
        } catch (Throwable thrown) { // MethodHandle declares it; a downcall throws nothing
            throw new AssertionError(thrown);
        }
    }

    /** Calls a function of four arguments. */
    void run(long first, long second, long third, long fourth) {
        run(first, second, third, fourth, 0, 0);
    }

    /** Calls the function, and returns its result. */
    long run(long first, long second, long third, long fourth, long fifth, long sixth) {
        try {
            return (long) CALL.invokeExact(code, first, second, third, fourth, fifth, sixth);
        } catch (RuntimeException | Error thrown) { // the JVM reports a page that a copy could not read late
            throw thrown;
        } catch (Throwable thrown) {
            throw new AssertionError(thrown);
        }
    }

    /** Calls a function of ten arguments. */
    void run(long first, long second, long third, long fourth, long fifth, long sixth, long seventh, long eighth,
        long ninth, long tenth) {
        try {
            long unused = (long) LONG_CALL.invokeExact(code, first, second, third, fourth, fifth, sixth, seventh,
                eighth, ninth, tenth);
        } catch (RuntimeException | Error thrown) {
            throw thrown;
        } catch (Throwable thrown) {
            throw new AssertionError(thrown);
        }
    }

    @Override
    public void close() {
        try {
            int status = (int) MUNMAP.invokeExact(code.address(), code.byteSize());
            assert status == 0;
        } catch (Throwable thrown) {
            throw new AssertionError(thrown);
        }
    }

    @SuppressWarnings("restricted") // native code can crash the process; it is trusted here
    private static MethodHandle call(FunctionDescriptor function) {
        return LINKER.downcallHandle(function);
    }

    @SuppressWarnings("restricted")
    private static MethodHandle function(String name, FunctionDescriptor descriptor) {
        return LINKER.downcallHandle(LINKER.defaultLookup().findOrThrow(name), descriptor);
    }
}
