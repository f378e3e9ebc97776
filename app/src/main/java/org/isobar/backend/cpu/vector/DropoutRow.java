package org.isobar.backend.cpu.vector;

import static org.isobar.backend.cpu.vector.Lanes.WIDTH;
import static org.isobar.backend.cpu.vector.Lanes.load;
import static org.isobar.backend.cpu.vector.Lanes.store;

import java.lang.foreign.MemorySegment;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.IntVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.IndexSpan;
import org.isobar.random.Philox;
import org.isobar.tensor.Shape;

/** Applies dropout masks to the rows (innermost dimension) of a tensor, one row at a time. Not thread-safe. */
public final class DropoutRow {
    /** Elements whose random bits are generated at a time; small enough for the L1 cache. */
    private static final int BLOCK = 1024;
    private static final VectorSpecies<Integer> I32 = IntVector.SPECIES_PREFERRED;

    private final Dropout dropout;
    private final Shape shape;
    private final int threshold;
    /**
     * Random bits of a block, with space for preceding words of its first counter block and for whole vectors at the
     * end.
     */
    private final int[] bits = new int[BLOCK + VectorPhilox.STEP];

    public DropoutRow(Dropout dropout, Shape shape) {
        this.dropout = dropout;
        this.shape = shape;
        threshold = (int) dropout.threshold();
    }

    /** Computes {@code y = mask * x} for row {@code row} of the tensor. */
    public void apply(MemorySegment y, MemorySegment x, long row) {
        apply(y, x, row, 0);
    }

    /**
     * Computes {@code y = mask * x} for a part of row {@code row} of the tensor that starts at element {@code first}.
     */
    public void apply(MemorySegment y, MemorySegment x, long row, long first) {
        IndexSpan span = dropout.spans().getLast();
        long global = outerIndex(row) * span.extent() + span.start() + first * span.step();
        int n = Lanes.count(x);
        for (int from = 0; from < n; from += BLOCK) {
            int to = Math.min(n, from + BLOCK);
            mask(y, x, from, to, fillBits(global + from * span.step(), span.step(), to - from));
        }
    }

    /** Row-major global index of a row, over all dimensions except the innermost. */
    private long outerIndex(long row) {
        long index = 0;
        long weight = 1;
        long rest = row;
        for (int dim = shape.rank() - 2; dim >= 0; dim--) {
            IndexSpan span = dropout.spans().get(dim);
            index += weight * (span.start() + rest % shape.extent(dim) * span.step());
            rest /= shape.extent(dim);
            weight *= span.extent();
        }
        return index;
    }

    /** Generates the random bits of {@code count} elements. Returns the index in {@link #bits} at which they start. */
    private int fillBits(long first, long step, int count) {
        if (step == 1) {
            int offset = (int) (first & 3);
            VectorPhilox.fill(dropout.key(), first >>> 2, bits, offset + count);
            return offset;
        }
        for (int i = 0; i < count; i++) {
            bits[i] = Philox.bits(dropout.key(), first + i * step);
        }
        return 0;
    }

    private void mask(MemorySegment y, MemorySegment x, int from, int to, int firstBits) {
        int i = from;
        for (; i <= to - WIDTH; i += WIDTH) {
            store(y, i, load(x, i).mul(dropout.scale()).blend(0, dropped(firstBits + i - from)));
        }
        if (i < to) {
            VectorMask<Float> rest = Lanes.below(i, to);
            FloatVector scaled = load(x, i, rest).mul(dropout.scale());
            store(y, i, scaled.blend(0, dropped(firstBits + i - from)), rest);
        }
    }

    private VectorMask<Float> dropped(int at) {
        return IntVector.fromArray(I32, bits, at).compare(VectorOperators.ULT, threshold).cast(Lanes.F32);
    }
}
