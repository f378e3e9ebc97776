package org.isobar.device;

import java.util.Set;

import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.ProductShape;
import org.isobar.tensor.DType;

/**
 * The largest extents of a step's operations. A device derives from them the workspace that the operations need and the
 * kernels that they run.
 *
 * @param widestRow     elements of the longest row that is normalized or summed over
 * @param largestWeight elements of the largest weight of a product, with both extents rounded up by {@link #packed}
 * @param largestImages elements of the largest batch of images that is scored
 * @param imagePlanes   fields, samples times channels, of that batch
 * @param normWidths    all row widths of layer normalizations
 * @param attention     all shapes of attention
 * @param differentiated types of the operands of attention whose gradients are computed
 * @param products      all matrix products
 */
public record Footprint(long widestRow, long largestWeight, long largestImages, long imagePlanes,
    Set<Long> normWidths, Set<AttentionShape> attention, Set<DType> differentiated, Set<ProductShape> products) {
    /** Copies the sets. */
    public Footprint {
        normWidths = Set.copyOf(normWidths);
        attention = Set.copyOf(attention);
        differentiated = Set.copyOf(differentiated);
        products = Set.copyOf(products);
    }

    /** An extent of a weight, rounded up to the multiple of 64 that packing kernels may pad it to. */
    public static long packed(long extent) {
        return Math.ceilDiv(extent, 64) * 64;
    }
}
