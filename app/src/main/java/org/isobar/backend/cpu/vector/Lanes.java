package org.isobar.backend.cpu.vector;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorMask;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorShuffle;
import jdk.incubator.vector.VectorSpecies;

/**
 * Loads, stores and reductions of vectors of this machine's width. Indices count elements. A partial vector at the end
 * of a range is loaded and stored with a mask, so that it uses the arithmetic of full vectors.
 */
public final class Lanes {
    /** The widest vectors of floats on this machine. */
    public static final VectorSpecies<Float> F32 = FloatVector.SPECIES_PREFERRED;
    /** Vectors of doubles of that width. */
    public static final VectorSpecies<Double> F64 = DoubleVector.SPECIES_PREFERRED;
    /** Floats in one vector. */
    public static final int WIDTH = F32.length();

    private static final VectorSpecies<Float> HALF =
        VectorSpecies.of(float.class, VectorShape.forBitSize(F64.vectorBitSize() / 2));
    private static final ByteOrder ORDER = ByteOrder.nativeOrder();
    private static final int SHIFT = 2;

    /** Rotations by 8, 4, 2 and 1 lanes. They are constants because HotSpot folds only constant shuffles. */
    private static final VectorShuffle<Float> BY_8 = VectorShuffle.iota(F32, 8 % WIDTH, 1, true);
    private static final VectorShuffle<Float> BY_4 = VectorShuffle.iota(F32, 4 % WIDTH, 1, true);
    private static final VectorShuffle<Float> BY_2 = VectorShuffle.iota(F32, 2 % WIDTH, 1, true);
    private static final VectorShuffle<Float> BY_1 = VectorShuffle.iota(F32, 1 % WIDTH, 1, true);

    private Lanes() { }

    /** Returns elements {@code from} to {@code to} of an array of floats. */
    public static MemorySegment slice(MemorySegment floats, long from, long to) {
        return floats.asSlice(from << SHIFT, (to - from) << SHIFT);
    }

    /** Number of floats in {@code floats}. */
    public static int count(MemorySegment floats) {
        return Math.toIntExact(floats.byteSize() >>> SHIFT);
    }

    /** Mask of the lanes of a vector at {@code index} that are below {@code end}. */
    public static VectorMask<Float> below(int index, int end) {
        return F32.indexInRange(index, end);
    }

    public static FloatVector load(MemorySegment floats, int index) {
        return FloatVector.fromMemorySegment(F32, floats, (long) index << SHIFT, ORDER);
    }

    /** Lanes that are not set in {@code mask} are zero. */
    public static FloatVector load(MemorySegment floats, int index, VectorMask<Float> mask) {
        return FloatVector.fromMemorySegment(F32, floats, (long) index << SHIFT, ORDER, mask);
    }

    /**
     * Stores a whole vector. The reinterpretation changes no bits: loops compiled by C2 of JDK 25 that store vectors of
     * shorts take up to half the time of those that store vectors of floats.
     */
    public static void store(MemorySegment floats, int index, FloatVector vector) {
        vector.reinterpretAsShorts().intoMemorySegment(floats, (long) index << SHIFT, ORDER);
    }

    public static void store(MemorySegment floats, int index, FloatVector vector, VectorMask<Float> mask) {
        vector.intoMemorySegment(floats, (long) index << SHIFT, ORDER, mask);
    }

    /** Loads {@code F64.length()} floats as doubles. */
    public static DoubleVector widen(MemorySegment floats, int index) {
        return (DoubleVector) FloatVector.fromMemorySegment(HALF, floats, (long) index << SHIFT, ORDER)
            .castShape(F64, 0);
    }

    /** Loads one float as a double. */
    public static double scalar(MemorySegment floats, int index) {
        return floats.getAtIndex(ValueLayout.JAVA_FLOAT, index);
    }

    /** Returns the sum of the lanes in a fixed order; {@code reduceLanes} does not specify its order. */
    public static float sum(FloatVector vector) {
        FloatVector sum = vector;
        if (WIDTH > 8) {
            sum = sum.add(sum.rearrange(BY_8));
        }
        if (WIDTH > 4) {
            sum = sum.add(sum.rearrange(BY_4));
        }
        if (WIDTH > 2) {
            sum = sum.add(sum.rearrange(BY_2));
        }
        return sum.add(sum.rearrange(BY_1)).lane(0);
    }

    /** Sum of the lanes, first to last. */
    public static double sum(DoubleVector vector) {
        double sum = 0;
        for (double lane : vector.toArray()) {
            sum += lane;
        }
        return sum;
    }
}
