package org.isobar.data;

import java.nio.file.Path;
import java.util.Arrays;

import org.isobar.fault.UserException;

/**
 * Mean and spread of each channel. The arrays are not to be changed.
 *
 * @param means   what is subtracted, one per channel
 * @param spreads what is then divided by, one per channel; finite and positive
 */
public record Normalization(float[] means, float[] spreads) {
    /** That which leaves every number as it is, at about the speed of a copy: memory is what takes the time. */
    static Normalization none(int channels) {
        float[] ones = new float[channels];
        Arrays.fill(ones, 1);
        return new Normalization(new float[channels], ones);
    }

    /**
     * Reads the statistics files, each of shape (1, C, 1, 1) with C at least {@code channels}; the rest is not used.
     *
     * @throws UserException if a file is missing or misshaped or a value cannot serve
     */
    public static Normalization load(Path meansFile, Path stdsFile, int channels) {
        return new Normalization(values(meansFile, channels, false), values(stdsFile, channels, true));
    }

    private static float[] values(Path path, int channels, boolean positive) {
        NpyFile file = NpyFile.read(path);
        long[] extents = file.shape().extents();
        if (extents.length != 4 || extents[0] != 1 || extents[2] != 1 || extents[3] != 1 || extents[1] < channels) {
            throw new UserException("Statistics file " + path + " has shape " + file.shape()
                + ", expected [1, C, 1, 1] with C at least " + channels
                + ", the number of channels. Use the statistics that belong to the data, or configure fewer channels.");
        }
        float[] values = new float[channels];
        for (int c = 0; c < channels; c++) {
            values[c] = (float) file.values()[c];
            if (!Float.isFinite(values[c]) || positive && values[c] <= 0) {
                throw new UserException("Statistics file " + path + " holds " + file.values()[c] + " for "
                    + NonFiniteValue.channelName(c) + ", expected a finite " + (positive ? "positive " : "")
                    + "number. Compute the statistics again or leave out the channel.");
            }
        }
        return values;
    }
}
