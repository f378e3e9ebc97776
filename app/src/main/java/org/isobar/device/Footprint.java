package org.isobar.device;

import java.util.Set;

/**
 * The largest that a step's operations are given: from this a device knows what they need besides their arguments.
 *
 * @param widestRow     elements of the longest row that is normalized or summed over
 * @param largestWeight elements of the largest weight of a product
 * @param largestImages elements of the largest batch of images that is scored
 * @param imagePlanes   fields, samples times channels, of that batch
 * @param attention     every extent of attention
 */
public record Footprint(long widestRow, long largestWeight, long largestImages, long imagePlanes,
    Set<AttentionShape> attention) {
    /** Keeps a copy of the set. */
    public Footprint {
        attention = Set.copyOf(attention);
    }
}
