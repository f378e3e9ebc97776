package org.isobar.data;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.Optional;

import org.isobar.backend.cpu.generated.FiniteCode;

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
        if (FiniteCode.areFinite(values.asSlice(0, window.elements() * Float.BYTES))) {
            return Optional.empty();
        }
        for (long i = 0; i < window.elements(); i++) {
            float value = values.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, i);
            if (!Float.isFinite(value)) {
                long row = i / window.width();
                return Optional.of(new Place((int) (row / window.height()), (int) (row % window.height()),
                    (int) (i % window.width()), value));
            }
        }
        return Optional.empty();
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
