package org.isobar.backend.cuda.cudnn;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;

import java.lang.foreign.Arena;
import java.lang.foreign.FunctionDescriptor;
import java.lang.foreign.MemoryLayout;
import java.lang.foreign.MemorySegment;
import java.lang.invoke.MethodHandle;

import org.isobar.backend.cuda.driver.CudaException;
import org.isobar.backend.cuda.driver.SystemLibrary;

/**
 * The functions of an opened {@code libcudnn.so.9}, called through {@code java.lang.foreign}. JavaCPP's binding is not
 * loaded: it is linked with four more libraries of cuDNN, of hundreds of megabytes, that attention does not need.
 */
final class NativeCudnn implements CudnnCalls {
    private static final int LONGEST_TEXT = 1024;

    private final MethodHandle version;
    private final MethodHandle statusText;
    private final MethodHandle lastError;
    private final MethodHandle createHandle;
    private final MethodHandle destroyHandle;
    private final MethodHandle setStream;
    private final MethodHandle create;
    private final MethodHandle destroy;
    private final MethodHandle set;
    private final MethodHandle read;
    private final MethodHandle complete;
    private final MethodHandle execute;

    /**
     * Looks up the functions.
     *
     * @throws CudaException if the library lacks one
     */
    NativeCudnn(SystemLibrary library) {
        version = function(library, "cudnnGetVersion", FunctionDescriptor.of(JAVA_LONG));
        statusText = function(library, "cudnnGetErrorString", FunctionDescriptor.of(ADDRESS, JAVA_INT));
        lastError = function(library, "cudnnGetLastErrorString", FunctionDescriptor.ofVoid(ADDRESS, JAVA_LONG));
        createHandle = status(library, "cudnnCreate", ADDRESS);
        destroyHandle = status(library, "cudnnDestroy", ADDRESS);
        setStream = status(library, "cudnnSetStream", ADDRESS, ADDRESS);
        create = status(library, "cudnnBackendCreateDescriptor", JAVA_INT, ADDRESS);
        destroy = status(library, "cudnnBackendDestroyDescriptor", ADDRESS);
        set = status(library, "cudnnBackendSetAttribute", ADDRESS, JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS);
        read = status(library, "cudnnBackendGetAttribute", ADDRESS, JAVA_INT, JAVA_INT, JAVA_LONG, ADDRESS, ADDRESS);
        complete = status(library, "cudnnBackendFinalize", ADDRESS);
        execute = status(library, "cudnnBackendExecute", ADDRESS, ADDRESS, ADDRESS);
    }

    private static MethodHandle status(SystemLibrary library, String name, MemoryLayout... arguments) {
        return function(library, name, FunctionDescriptor.of(JAVA_INT, arguments));
    }

    private static MethodHandle function(SystemLibrary library, String name, FunctionDescriptor type) {
        return library.function(name, type).orElseThrow(() -> new CudaException("libcudnn.so.9 has no " + name));
    }

    @Override
    public long version() {
        try {
            return (long) version.invokeExact();
        } catch (Throwable thrown) { // MethodHandle declares it; a downcall throws nothing
            throw new AssertionError(thrown);
        }
    }

    @Override
    @SuppressWarnings("restricted") // a constant string of the library
    public String text(int status) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment name = (MemorySegment) statusText.invokeExact(status);
            MemorySegment last = arena.allocate(LONGEST_TEXT);
            lastError.invokeExact(last, (long) LONGEST_TEXT);
            String detail = last.getString(0).strip();
            return name.reinterpret(LONGEST_TEXT).getString(0) + (detail.isEmpty() ? "" : " (" + detail + ")");
        } catch (Throwable thrown) {
            throw new AssertionError(thrown);
        }
    }

    @Override
    public int createHandle(MemorySegment made) {
        try {
            return (int) createHandle.invokeExact(made);
        } catch (Throwable thrown) {
            throw new AssertionError(thrown);
        }
    }

    @Override
    public int destroyHandle(MemorySegment handle) {
        try {
            return (int) destroyHandle.invokeExact(handle);
        } catch (Throwable thrown) {
            throw new AssertionError(thrown);
        }
    }

    @Override
    public int setStream(MemorySegment handle, MemorySegment stream) {
        try {
            return (int) setStream.invokeExact(handle, stream);
        } catch (Throwable thrown) {
            throw new AssertionError(thrown);
        }
    }

    @Override
    public int create(int type, MemorySegment made) {
        try {
            return (int) create.invokeExact(type, made);
        } catch (Throwable thrown) {
            throw new AssertionError(thrown);
        }
    }

    @Override
    public int destroy(MemorySegment descriptor) {
        try {
            return (int) destroy.invokeExact(descriptor);
        } catch (Throwable thrown) {
            throw new AssertionError(thrown);
        }
    }

    @Override
    public int set(MemorySegment descriptor, int attribute, int type, long count, MemorySegment values) {
        try {
            return (int) set.invokeExact(descriptor, attribute, type, count, values);
        } catch (Throwable thrown) {
            throw new AssertionError(thrown);
        }
    }

    @Override
    public int read(MemorySegment descriptor, int attribute, int type, long requested, MemorySegment count,
        MemorySegment values) {
        try {
            return (int) read.invokeExact(descriptor, attribute, type, requested, count, values);
        } catch (Throwable thrown) {
            throw new AssertionError(thrown);
        }
    }

    @Override
    public int complete(MemorySegment descriptor) {
        try {
            return (int) complete.invokeExact(descriptor);
        } catch (Throwable thrown) {
            throw new AssertionError(thrown);
        }
    }

    @Override
    public int execute(MemorySegment handle, MemorySegment plan, MemorySegment pack) {
        try {
            return (int) execute.invokeExact(handle, plan, pack);
        } catch (Throwable thrown) {
            throw new AssertionError(thrown);
        }
    }
}
