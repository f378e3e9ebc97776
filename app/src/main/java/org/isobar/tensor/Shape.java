package org.isobar.tensor;

import java.util.Arrays;

/** The extents of a tensor, outermost dimension first. Immutable; a scalar has no dimensions and one element. */
public final class Shape {
    private final long[] extents;

    private Shape(long[] extents) {
        this.extents = extents;
    }

    /**
     * A shape of the given extents.
     *
     * @throws IllegalArgumentException if an extent is not positive
     */
    public static Shape of(long... extents) {
        for (long extent : extents) {
            if (extent <= 0) {
                throw new IllegalArgumentException("extent " + extent + " in shape " + Arrays.toString(extents));
            }
        }
        return new Shape(extents.clone());
    }

    /** Number of dimensions. */
    public int rank() {
        return extents.length;
    }

    /** Extent of dimension {@code dim}; negative dimensions count from the end, -1 being the innermost. */
    public long extent(int dim) {
        return extents[dim < 0 ? extents.length + dim : dim];
    }

    /** Number of elements: the product of all extents. */
    public long elements() {
        long product = 1;
        for (long extent : extents) {
            product = Math.multiplyExact(product, extent);
        }
        return product;
    }

    /** Number of rows: the product of all extents except the innermost. */
    public long rows() {
        return elements() / extent(-1);
    }

    /** The extents, outermost first; a copy. */
    public long[] extents() {
        return extents.clone();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Shape shape && Arrays.equals(extents, shape.extents);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(extents);
    }

    @Override
    public String toString() {
        return Arrays.toString(extents);
    }
}
