package org.isobar.device;

import java.util.Set;

import org.isobar.device.ops.AttentionShape;

/**
 * The largest that a step's operations are given: from this a device knows what they need besides their arguments, and
 * which of its kernels they will run.
 *
 * @param widestRow     elements of the longest row that is normalized or summed over
 * @param largestWeight elements of the largest weight of a product, both its extents as {@link #packed} rounds them
 * @param largestImages elements of the largest batch of images that is scored
 * @param imagePlanes   fields, samples times channels, of that batch
 * @param normWidths    every width of rows that are normalized
 * @param attention     every extent of attention
 */
public record Footprint(long widestRow, long largestWeight, long largestImages, long imagePlanes,
    Set<Long> normWidths, Set<AttentionShape> attention) {
    /** Keeps copies of the sets. */
    public Footprint {
        normWidths = Set.copyOf(normWidths);
        attention = Set.copyOf(attention);
    }

    /** An extent of a weight, rounded up to what kernels may pad it to that pack it. */
    public static long packed(long extent) {
        return Math.ceilDiv(extent, 64) * 64;
    }
}
