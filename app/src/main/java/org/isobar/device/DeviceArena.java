package org.isobar.device;

import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Storage;
import org.isobar.tensor.Tensor;

/**
 * A stack allocator over one block of device memory: tensors are allocated in order and freed in reverse order. Its
 * capacity is fixed when it is created, so a training step allocates no device memory. Not thread-safe: only the thread
 * that issues the operations uses it.
 */
public final class DeviceArena implements AutoCloseable {
    /** Every tensor starts at a multiple of this many bytes: whole cache lines, and the alignment of GPU copies. */
    public static final int ALIGNMENT = 256;

    private final String name;
    private final Storage storage;
    private final Runnable free;
    private long used;
    private long highWatermark;
    private boolean sealed;

    /**
     * Creates an arena over the given storage.
     *
     * @param name what it holds, for messages, for example "activations"
     * @param free frees the storage; run once, by {@link #close}
     */
    public DeviceArena(String name, Storage storage, Runnable free) {
        this.name = name;
        this.storage = storage;
        this.free = free;
    }

    /**
     * Allocates a {@code dtype} tensor of the given extents. Its contents are undefined.
     *
     * @throws FullException if the arena is sealed or too small, which means that the memory plan was wrong
     */
    public Tensor allocate(DType dtype, long... extents) {
        Shape shape = Shape.of(extents);
        long offset = used;
        boolean fits = shape.elements() <= (storage.bytes() - offset) / dtype.bytes();
        long end = fits ? align(offset + shape.elements() * dtype.bytes()) : Long.MAX_VALUE;
        if (sealed || end > storage.bytes()) {
            throw new FullException("arena '" + name + "' cannot hold " + shape + " " + dtype + " behind "
                + used + " of " + storage.bytes() + " bytes" + (sealed ? ": it is sealed" : ""));
        }
        used = end;
        highWatermark = Math.max(highWatermark, used);
        return new Tensor(storage, offset, dtype, shape);
    }

    /** Allocates an F32 tensor of the given extents; see {@link #allocate}. */
    public Tensor f32(long... extents) {
        return allocate(DType.F32, extents);
    }

    /** Opens a scope. Closing it frees everything allocated from this arena since it was opened. */
    public Scope scope() {
        return new Scope();
    }

    /** Forbids further allocation, so that the layout of the arena no longer changes. */
    public void seal() {
        sealed = true;
    }

    /** Frees all tensors of this arena. */
    public void reset() {
        used = 0;
    }

    /** Bytes currently allocated, alignment included. */
    public long used() {
        return used;
    }

    /** The largest number of bytes that were allocated at one time. */
    public long highWatermark() {
        return highWatermark;
    }

    /** Frees the memory; every tensor of this arena becomes invalid. */
    @Override
    public void close() {
        free.run();
    }

    /** {@code bytes} rounded up to the next multiple of {@link #ALIGNMENT}. */
    public static long align(long bytes) {
        return (bytes + ALIGNMENT - 1) & -ALIGNMENT;
    }

    /** The arena cannot hold a tensor. */
    public static final class FullException extends IllegalStateException {
        private static final long serialVersionUID = 1L;

        private FullException(String message) {
            super(message);
        }
    }

    /** A group of tensors that are freed together. */
    public final class Scope implements AutoCloseable {
        private final long mark = used;

        private Scope() { }

        /** Allocates a {@code dtype} tensor of the given extents; see {@link DeviceArena#allocate}. */
        public Tensor allocate(DType dtype, long... extents) {
            return DeviceArena.this.allocate(dtype, extents);
        }

        /** Allocates an F32 tensor of the given extents; see {@link DeviceArena#allocate}. */
        public Tensor f32(long... extents) {
            return DeviceArena.this.f32(extents);
        }

        /** Frees everything allocated since this scope was opened. */
        @Override
        public void close() {
            assert mark <= used : "scopes of arena '" + name + "' closed out of order";
            used = mark;
        }
    }
}
