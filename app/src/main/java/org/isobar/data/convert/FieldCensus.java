package org.isobar.data.convert;

import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongConsumer;

import org.isobar.data.source.NumberType;
import org.isobar.data.source.StoredArray;

/**
 * Range of the values of a field, unpacked, and how many there are of those that training cannot use.
 *
 * @param least    smallest finite value; an infinity if there is none
 * @param greatest largest finite value; a negative infinity if there is none
 * @param nans     number of NaNs and missing values
 * @param infinite number of infinities
 */
record FieldCensus(float least, float greatest, long nans, long infinite) {
    private static final FieldCensus NONE =
        new FieldCensus(Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY, 0, 0);
    private static final int BLOCK_ELEMENTS = 1 << 20;

    /**
     * Reads a field as a whole, on all cores.
     *
     * @param progress receives numbers of bytes that were read; is called by several threads
     */
    static FieldCensus of(GriddedArray field, LongConsumer progress) {
        return blocks(field.stored()).parallelStream().map(block -> of(field, block, progress))
            .reduce(NONE, FieldCensus::merge);
    }

    /** First element and extents of a part of an array. */
    private record Block(int[] start, int[] count) { }

    /** Cuts an array into blocks of whole chunks, each of some million elements at least, or a chunk. */
    private static List<Block> blocks(StoredArray array) {
        int[] shape = array.shape();
        int[] extents = array.chunk();
        long elements = StoredArray.elements(extents);
        for (int d = shape.length - 1; d >= 0; d--) {
            long chunks = Math.clamp(BLOCK_ELEMENTS / elements, 1, (shape[d] + extents[d] - 1L) / extents[d]);
            elements = elements * chunks;
            extents[d] = (int) Math.min(shape[d], extents[d] * chunks);
        }
        List<Block> blocks = new ArrayList<>();
        cut(shape, extents, new int[shape.length], 0, blocks);
        return blocks;
    }

    private static void cut(int[] shape, int[] extents, int[] start, int dim, List<Block> blocks) {
        if (dim == shape.length) {
            int[] count = new int[shape.length];
            Arrays.setAll(count, d -> Math.min(extents[d], shape[d] - start[d]));
            blocks.add(new Block(start.clone(), count));
            return;
        }
        for (start[dim] = 0; start[dim] < shape[dim]; start[dim] += extents[dim]) {
            cut(shape, extents, start, dim + 1, blocks);
        }
    }

    private static FieldCensus of(GriddedArray field, Block block, LongConsumer progress) {
        StoredArray array = field.stored();
        NumberType type = array.type();
        int elements = Math.toIntExact(StoredArray.elements(block.count));
        MemorySegment stored = MemorySegment.ofArray(new byte[Math.multiplyExact(elements, type.bytes())]);
        array.read(block.start, block.count, stored);
        int row = block.count[block.count.length - 1];
        float[] values = new float[row];
        double[] buffer = new double[row];
        float least = Float.POSITIVE_INFINITY;
        float greatest = Float.NEGATIVE_INFINITY;
        long nans = 0;
        long infinite = 0;
        for (int first = 0; first < elements; first += row) {
            field.packing().unpack(stored, first, 1, row, buffer, values, 0);
            for (float value : values) {
                if (Float.isFinite(value)) {
                    least = Math.min(least, value);
                    greatest = Math.max(greatest, value);
                } else if (Float.isNaN(value)) {
                    nans++;
                } else {
                    infinite++;
                }
            }
        }
        progress.accept(stored.byteSize());
        return new FieldCensus(least, greatest, nans, infinite);
    }

    private FieldCensus merge(FieldCensus other) {
        return new FieldCensus(Math.min(least, other.least), Math.max(greatest, other.greatest), nans + other.nans,
            infinite + other.infinite);
    }
}
