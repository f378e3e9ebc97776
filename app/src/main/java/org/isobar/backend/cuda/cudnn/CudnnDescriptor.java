package org.isobar.backend.cuda.cudnn;

import static java.lang.foreign.ValueLayout.ADDRESS;
import static java.lang.foreign.ValueLayout.JAVA_BYTE;
import static java.lang.foreign.ValueLayout.JAVA_INT;
import static java.lang.foreign.ValueLayout.JAVA_LONG;
import static org.bytedeco.cuda.global.cudnn.CUDNN_STATUS_SUCCESS;
import static org.bytedeco.cuda.global.cudnn.CUDNN_TYPE_BACKEND_DESCRIPTOR;
import static org.bytedeco.cuda.global.cudnn.CUDNN_TYPE_BOOLEAN;
import static org.bytedeco.cuda.global.cudnn.CUDNN_TYPE_INT64;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.stream.IntStream;

import org.isobar.backend.cuda.driver.CudaException;

/**
 * A descriptor of cuDNN's backend interface. It is created, its attributes are set, and {@link #complete} makes it
 * usable; from then on attributes can only be read. Descriptors that others refer to must exist as long as those.
 */
final class CudnnDescriptor {
    private final CudnnCalls calls;
    private final String name;
    private final MemorySegment handle;

    private CudnnDescriptor(CudnnCalls calls, String name, MemorySegment handle) {
        this.calls = calls;
        this.name = name;
        this.handle = handle;
    }

    /** Owns descriptors and destroys them, the last one first. */
    static final class Owner implements AutoCloseable {
        private final CudnnCalls calls;
        private final Deque<CudnnDescriptor> owned = new ArrayDeque<>();

        Owner(CudnnCalls calls) {
            this.calls = calls;
        }

        /**
         * Creates an empty descriptor.
         *
         * @param type a {@code cudnnBackendDescriptorType_t}
         * @param name what it describes, for messages
         * @throws CudaException if cuDNN does not know the type
         */
        CudnnDescriptor create(int type, String name) {
            try (Arena arena = Arena.ofConfined()) {
                MemorySegment made = arena.allocate(ADDRESS);
                check(calls, calls.create(type, made), "cudnnBackendCreateDescriptor of " + name);
                owned.push(new CudnnDescriptor(calls, name, made.get(ADDRESS, 0)));
                return owned.peek();
            }
        }

        @Override
        public void close() {
            owned.forEach(descriptor -> calls.destroy(descriptor.handle));
            owned.clear();
        }
    }

    /**
     * Checks the status of a call.
     *
     * @throws CudaException with cuDNN's text if the call failed
     */
    static void check(CudnnCalls calls, int status, String call) {
        if (status != CUDNN_STATUS_SUCCESS) {
            throw new CudaException(call + ": " + calls.text(status));
        }
    }

    /** cuDNN's own pointer. */
    MemorySegment handle() {
        return handle;
    }

    /** Sets an attribute of 64-bit integers. */
    CudnnDescriptor integers(int attribute, long... values) {
        try (Arena arena = Arena.ofConfined()) {
            return set(attribute, CUDNN_TYPE_INT64, values.length, arena.allocateFrom(JAVA_LONG, values));
        }
    }

    /** Sets an attribute that is one value of an enumeration of the given attribute type. */
    CudnnDescriptor value(int attribute, int type, int value) {
        try (Arena arena = Arena.ofConfined()) {
            return set(attribute, type, 1, arena.allocateFrom(JAVA_INT, value));
        }
    }

    /** Sets an attribute of type {@code bool} to true. */
    CudnnDescriptor flag(int attribute) {
        try (Arena arena = Arena.ofConfined()) {
            return set(attribute, CUDNN_TYPE_BOOLEAN, 1, arena.allocateFrom(JAVA_BYTE, (byte) 1));
        }
    }

    /** Sets an attribute of pointers of the given attribute type. */
    CudnnDescriptor pointers(int attribute, int type, MemorySegment... values) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment array = arena.allocate(ADDRESS, Math.max(1, values.length));
            IntStream.range(0, values.length).forEach(i -> array.setAtIndex(ADDRESS, i, values[i]));
            return set(attribute, type, values.length, array);
        }
    }

    /** Sets an attribute that is another descriptor. */
    CudnnDescriptor descriptor(int attribute, CudnnDescriptor value) {
        return pointers(attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, value.handle);
    }

    private CudnnDescriptor set(int attribute, int type, long count, MemorySegment values) {
        check(calls, calls.set(handle, attribute, type, count, values),
            "cudnnBackendSetAttribute " + attribute + " of " + name);
        return this;
    }

    /** Ends the description. */
    CudnnDescriptor complete() {
        check(calls, calls.complete(handle), "cudnnBackendFinalize of " + name);
        return this;
    }

    /** Reads an attribute of one 64-bit integer. */
    long integer(int attribute) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocate(JAVA_LONG);
            MemorySegment value = arena.allocate(JAVA_LONG);
            read(attribute, CUDNN_TYPE_INT64, 1, count, value);
            return value.get(JAVA_LONG, 0);
        }
    }

    /** Reads an attribute of at most {@code most} values of an enumeration. */
    List<Integer> values(int attribute, int type, int most) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocate(JAVA_LONG);
            MemorySegment found = arena.allocate(JAVA_INT, most);
            read(attribute, type, most, count, found);
            return IntStream.range(0, (int) Math.min(most, count.get(JAVA_LONG, 0)))
                .mapToObj(i -> found.getAtIndex(JAVA_INT, i)).toList();
        }
    }

    /**
     * Reads an attribute of descriptors, which cuDNN writes to descriptors that exist already.
     *
     * @param empty descriptors of the attribute's type
     * @return those that were filled
     */
    List<CudnnDescriptor> fill(int attribute, List<CudnnDescriptor> empty) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment array = arena.allocate(ADDRESS, Math.max(1, empty.size()));
            IntStream.range(0, empty.size()).forEach(i -> array.setAtIndex(ADDRESS, i, empty.get(i).handle));
            MemorySegment count = arena.allocate(JAVA_LONG);
            read(attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, empty.size(), count, array);
            return empty.subList(0, (int) Math.min(empty.size(), count.get(JAVA_LONG, 0)));
        }
    }

    /** The number of descriptors that an attribute has. */
    int count(int attribute) {
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment count = arena.allocate(JAVA_LONG);
            read(attribute, CUDNN_TYPE_BACKEND_DESCRIPTOR, 0, count, MemorySegment.NULL);
            return Math.toIntExact(count.get(JAVA_LONG, 0));
        }
    }

    private void read(int attribute, int type, long requested, MemorySegment count, MemorySegment values) {
        check(calls, calls.read(handle, attribute, type, requested, count, values),
            "cudnnBackendGetAttribute " + attribute + " of " + name);
    }
}
