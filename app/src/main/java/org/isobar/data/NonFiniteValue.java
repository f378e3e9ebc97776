package org.isobar.data;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.Optional;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorSpecies;

/**
 * Position of a NaN or an infinity in the data.
 *
 * @param sample  number of the sample in the data set
 * @param file    file that holds the value
 * @param time    index in the file's first dimension
 * @param channel index in the file's second dimension, and the channel's name
 * @param row     latitude index
 * @param column  longitude index
 * @param value   the value: NaN or an infinity
 */
public record NonFiniteValue(long sample, Path file, long time, String channel, int row, int column, float value) {
    private static final VectorSpecies<Float> F32 = FloatVector.SPECIES_PREFERRED;
    private static final ByteOrder ORDER = ByteOrder.nativeOrder();

    /**
     * A NaN or an infinity in a frame.
     *
     * @param channel index of the channel
     * @param row     latitude index
     * @param column  longitude index
     * @param value   the value
     */
    public record Place(int channel, int row, int column, float value) { }

    /**
     * The first NaN or infinity of a frame; empty if all values are finite.
     *
     * @param values (channels, height, width), floats
     */
    public static Optional<Place> find(MemorySegment values, CropWindow window) {
        long checked = finiteVectors(values, window.elements());
        for (long i = checked; i < window.elements(); i++) {
            float value = values.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i);
            if (!Float.isFinite(value)) {
                long row = i / window.width();
                return Optional.of(new Place((int) (row / window.height()), (int) (row % window.height()),
                    (int) (i % window.width()), value));
            }
        }
        return Optional.empty();
    }

    /** Number of values in whole vectors if they are all finite, else 0. */
    private static long finiteVectors(MemorySegment values, long count) {
        FloatVector zeros = FloatVector.zero(F32); // NaN where a value was not finite
        long i = 0;
        for (; i <= count - F32.length(); i += F32.length()) {
            zeros = zeros.add(FloatVector.fromMemorySegment(F32, values, i * Float.BYTES, ORDER).mul(0));
        }
        return zeros.reduceLanes(VectorOperators.ADD) == 0 ? i : 0;
    }

    /** A channel's number, with the name of its variable in the tutorial's data set. */
    public static String channelName(int channel) {
        return "channel " + channel
            + (channel < Era5Variable.COUNT ? " (" + Era5Variable.values()[channel].label() + ")" : "");
    }

    /** The value and its position as text. */
    @Override
    public String toString() {
        return value + " in sample " + sample + ": " + file + ", time step " + time + ", " + channel + ", row " + row
            + ", column " + column;
    }
}
