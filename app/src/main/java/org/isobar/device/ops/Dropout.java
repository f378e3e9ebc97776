package org.isobar.device.ops;

import java.util.List;

import org.isobar.random.Philox;

/**
 * A random mask over a global index space: element {@code g} (row-major over the extents of the spans) is kept iff
 * {@code Philox.bits(key, g)}, unsigned, is at least {@code probability * 2^32}, and is then scaled by
 * {@code 1 / (1 - probability)}. The mask is recomputed wherever it is needed and never stored.
 *
 * @param probability probability of dropping an element, in [0, 1)
 * @param key         purpose and step
 * @param spans       position of each local dimension in the global one, outermost first
 */
public record Dropout(double probability, Philox.Key key, List<IndexSpan> spans) {
    /** Keeps everything. */
    public static final Dropout NONE = new Dropout(0, new Philox.Key(0, 0), List.of());

    /** Checks the probability. */
    public Dropout {
        if (!(probability >= 0 && probability < 1)) {
            throw new IllegalArgumentException("dropout probability " + probability + " is not in [0, 1)");
        }
        spans = List.copyOf(spans);
    }

    /** Whether this mask keeps everything. */
    public boolean isNone() {
        return probability == 0;
    }

    /** An element is dropped iff its 32 random bits, unsigned, are below this. */
    public long threshold() {
        return (long) Math.floor(probability * 0x1p32);
    }

    /** Factor on the elements that are kept. */
    public float scale() {
        return (float) (1 / (1 - probability));
    }

    /** Global index of the element with the given local indices, outermost first. */
    public long globalIndex(long... local) {
        long index = 0;
        for (int dim = 0; dim < local.length; dim++) {
            IndexSpan span = spans.get(dim);
            index = index * span.extent() + span.start() + local[dim] * span.step();
        }
        return index;
    }
}
