package org.isobar.distributed;

import java.util.Arrays;

/** The number of elements of each rank's part of a tensor, in group order, with what every collective needs of them. */
public final class PartSizes {
    private final long[] sizes;
    private final long elements;
    private final boolean even;
    private final int hash;

    /** Takes over the sizes. */
    public PartSizes(long... sizes) {
        this.sizes = sizes;
        elements = Arrays.stream(sizes).sum();
        even = Arrays.stream(sizes).allMatch(size -> size == sizes[0]);
        hash = Arrays.hashCode(sizes);
    }

    /** The parts of {@code elements} elements, whose sizes differ by at most one. */
    static PartSizes even(long elements, int ranks) {
        long[] sizes = new long[ranks];
        Arrays.setAll(sizes, part -> elements / ranks + (part < elements % ranks ? 1 : 0));
        return new PartSizes(sizes);
    }

    /** The sizes, which must not be changed. */
    public long[] sizes() {
        return sizes;
    }

    /** Number of elements of all parts together. */
    public long elements() {
        return elements;
    }

    /** Whether all parts have the same size. */
    public boolean even() {
        return even;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof PartSizes parts && Arrays.equals(sizes, parts.sizes);
    }

    @Override
    public int hashCode() {
        return hash;
    }

    @Override
    public String toString() {
        return Arrays.toString(sizes);
    }
}
