package org.isobar.data;

import java.nio.file.Path;

/**
 * Position of a NaN or an infinity in the data.
 *
 * @param sample  number of the sample in the data set
 * @param file    file that holds the value
 * @param time    index in the file's first dimension
 * @param channel index in the file's second dimension
 * @param row     latitude index
 * @param column  longitude index
 * @param value   the value: NaN or an infinity
 */
public record NonFiniteValue(long sample, Path file, long time, int channel, int row, int column, float value) {
    /** A channel's number, with the name of its variable in the tutorial's data set. */
    public static String channelName(int channel) {
        return "channel " + channel
            + (channel < Era5Variable.COUNT ? " (" + Era5Variable.values()[channel].label() + ")" : "");
    }

    /** The value and its position as text. */
    @Override
    public String toString() {
        return value + " in sample " + sample + ": " + file + ", time step " + time + ", " + channelName(channel)
            + ", row " + row + ", column " + column;
    }
}
