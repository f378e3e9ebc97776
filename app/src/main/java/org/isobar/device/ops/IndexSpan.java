package org.isobar.device.ops;

/**
 * The position of a local dimension in a global one: local index {@code i} is global index {@code start + i * step}.
 *
 * @param start  global index of local index 0
 * @param step   stride between neighbouring local elements in the global dimension
 * @param extent size of the global dimension
 */
public record IndexSpan(long start, long step, long extent) {
    /** A dimension that is not cut. */
    public static IndexSpan whole(long extent) {
        return new IndexSpan(0, 1, extent);
    }
}
