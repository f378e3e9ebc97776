package org.isobar.device;

import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Storage;
import org.isobar.tensor.Tensor;

/**
 * A block of device memory from which tensors are taken in order and given back in reverse order. Its capacity is
 * fixed when it is made, so a training step allocates nothing. Not thread-safe: it belongs to the thread that issues
 * the operations.
 */
public final class DeviceArena implements AutoCloseable {
    /** Every tensor starts at a multiple of this many bytes: whole cache lines, and what GPU copies want. */
    public static final int ALIGNMENT = 256;

    private final String name;
    private final Storage storage;
    private final Runnable free;
    private long used;
    private long highWatermark;
    private boolean sealed;

    /**
     * An arena over the given storage.
     *
     * @param name what it holds, for messages: "activations", say
     * @param free gives the storage back; run once, by {@link #close}
     */
    public DeviceArena(String name, Storage storage, Runnable free) {
        this.name = name;
        this.storage = storage;
        this.free = free;
    }

    /**
     * The next {@code dtype} tensor of the given extents. Its contents are undefined.
     *
     * @throws IllegalStateException if the arena is sealed or too small: the plan was wrong
     */
    public Tensor allocate(DType dtype, long... extents) {
        Shape shape = Shape.of(extents);
        long offset = used;
        long end = align(offset + shape.elements() * dtype.bytes());
        if (sealed || end > storage.bytes()) {
            throw new IllegalStateException("arena '" + name + "' cannot hold " + shape + " " + dtype + " behind "
                + used + " of " + storage.bytes() + " bytes" + (sealed ? ": it is sealed" : ""));
        }
        used = end;
        highWatermark = Math.max(highWatermark, used);
        return new Tensor(storage, offset, dtype, shape);
    }

    /** The next single-precision tensor of the given extents; see {@link #allocate}. */
    public Tensor f32(long... extents) {
        return allocate(DType.F32, extents);
    }

    /** Opens a scope: what is taken through it, or from this arena while it is open, is given back when it closes. */
    public Scope scope() {
        return new Scope();
    }

    /** Forbids further allocation: from here on the arena's layout does not change. */
    public void seal() {
        sealed = true;
    }

    /** Gives back everything that was taken. */
    public void reset() {
        used = 0;
    }

    /** Bytes taken now, alignment included. */
    public long used() {
        return used;
    }

    /** Most bytes ever taken at one time. */
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

    /** Tensors that are given back together. */
    public final class Scope implements AutoCloseable {
        private final long mark = used;

        private Scope() { }

        /** The next {@code dtype} tensor of the given extents; see {@link DeviceArena#allocate}. */
        public Tensor allocate(DType dtype, long... extents) {
            return DeviceArena.this.allocate(dtype, extents);
        }

        /** The next single-precision tensor of the given extents; see {@link DeviceArena#allocate}. */
        public Tensor f32(long... extents) {
            return DeviceArena.this.f32(extents);
        }

        /** Gives back what was taken since this scope was opened. */
        @Override
        public void close() {
            assert mark <= used : "scopes of arena '" + name + "' closed out of order";
            used = mark;
        }
    }
}
