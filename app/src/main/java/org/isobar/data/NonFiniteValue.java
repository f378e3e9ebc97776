package org.isobar.data;

import java.nio.file.Path;

/**
 * A place in the data that holds no finite number.
 *
 * @param sample  global number of the sample
 * @param file    file that holds it
 * @param time    index in the file's first dimension
 * @param channel index in the file's second dimension
 * @param row     latitude index
 * @param column  longitude index
 * @param value   what stands there: NaN or an infinity
 */
public record NonFiniteValue(long sample, Path file, long time, int channel, int row, int column, float value) {
    /** A channel's number with the name that it has in the tutorial's data set. */
    static String channelName(int channel) {
        return "channel " + channel
            + (channel < Era5Variable.COUNT ? " (" + Era5Variable.values()[channel].label() + ")" : "");
    }

    /** The place and the value, in words. */
    @Override
    public String toString() {
        return value + " in sample " + sample + ": " + file + ", time step " + time + ", " + channelName(channel)
            + ", row " + row + ", column " + column;
    }
}
