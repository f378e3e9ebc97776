package org.isobar.tensor;

/**
 * A contiguous, row-major view of a {@link Storage}. Has no operations and owns no memory.
 *
 * @param storage the memory that this tensor is a view of
 * @param offset  first byte of the view, counted from the start of the storage
 * @param dtype   element type
 * @param shape   extents, outermost first
 */
public record Tensor(Storage storage, long offset, DType dtype, Shape shape) {

    /** Checks that the view lies inside its storage. */
    public Tensor {
        if (offset < 0 || offset + shape.elements() * dtype.bytes() > storage.bytes()) {
            throw new IllegalArgumentException("view of " + shape + " " + dtype + " at byte " + offset
                + " exceeds its storage of " + storage.bytes() + " bytes");
        }
    }

    /** Address of the first element in device memory. */
    public long address() {
        return storage.address() + offset;
    }

    /** Number of elements. */
    public long elements() {
        return shape.elements();
    }

    /** Size in bytes. */
    public long bytes() {
        return elements() * dtype.bytes();
    }

    /** A view of this tensor with another shape of the same number of elements. */
    public Tensor reshape(long... extents) {
        Shape reshaped = Shape.of(extents);
        if (reshaped.elements() != elements()) {
            throw new IllegalArgumentException("cannot view " + shape + " as " + reshaped);
        }
        return new Tensor(storage, offset, dtype, reshaped);
    }

    /** A view of {@code count} consecutive entries of the outermost dimension, starting at {@code first}. */
    public Tensor slice(long first, long count) {
        if (first < 0 || count <= 0 || first + count > shape.extent(0)) {
            throw new IllegalArgumentException("rows " + first + " to " + (first + count) + " of " + shape);
        }
        long[] extents = shape.extents();
        long entryBytes = bytes() / extents[0];
        extents[0] = count;
        return new Tensor(storage, offset + first * entryBytes, dtype, Shape.of(extents));
    }

    /** Whether the two views share a byte. */
    public boolean overlaps(Tensor other) {
        return storage == other.storage && offset < other.offset + other.bytes() && other.offset < offset + bytes();
    }

    /** Whether the two views consist of the same elements. */
    public boolean aliases(Tensor other) {
        return storage == other.storage && offset == other.offset && dtype == other.dtype
            && elements() == other.elements();
    }
}
