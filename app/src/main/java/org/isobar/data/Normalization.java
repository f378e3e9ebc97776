package org.isobar.data;

import java.nio.file.Path;
import java.util.Arrays;

import org.isobar.fault.UserException;

/**
 * Mean and standard deviation of each channel: {@code (x - mean) / spread}. The arrays must not be modified.
 *
 * @param means   one mean for each channel
 * @param spreads one standard deviation for each channel; finite and positive
 */
public record Normalization(float[] means, float[] spreads) {
    private static final float LEAST_SPREAD = 1e-30f; // so that 3e8 can be divided by it

    /** The identity: means 0, spreads 1. It is about as fast as a copy, because memory bandwidth is the limit. */
    public static Normalization none(int channels) {
        float[] ones = new float[channels];
        Arrays.fill(ones, 1);
        return new Normalization(new float[channels], ones);
    }

    /**
     * Reads the first {@code channels} values of the statistics files, each of shape (1, C, 1, 1).
     *
     * @throws UserException if a file is missing, has another shape, or holds a value that is not finite or a standard
     * deviation that is not positive or too small to divide by
     */
    public static Normalization load(Path meansFile, Path stdsFile, int channels) {
        Normalization normalization =
            new Normalization(values(meansFile, channels, false), values(stdsFile, channels, true));
        for (int c = 0; c < channels; c++) {
            float spread = normalization.spreads[c];
            if (spread < LEAST_SPREAD || !Float.isFinite(normalization.means[c] / spread)) {
                throw new UserException("Statistics file " + stdsFile + " holds the standard deviation " + spread
                    + " for " + NonFiniteValue.channelName(c) + ", by which a mean of " + normalization.means[c]
                    + " cannot be divided in single precision. Compute the statistics again, or leave out the "
                    + "channel.");
            }
        }
        return normalization;
    }

    private static float[] values(Path path, int channels, boolean positive) {
        NpyFile file = NpyFile.read(path);
        long[] extents = file.shape().extents();
        if (extents.length != 4 || extents[0] != 1 || extents[2] != 1 || extents[3] != 1 || extents[1] < channels) {
            throw new UserException("Statistics file " + path + " has shape " + file.shape()
                + ", expected [1, C, 1, 1] with C at least " + channels
                + ", the number of channels. Use the statistics of this data set, or configure fewer channels.");
        }
        float[] values = new float[channels];
        for (int c = 0; c < channels; c++) {
            values[c] = (float) file.values()[c];
            if (!Float.isFinite(values[c]) || positive && values[c] <= 0) {
                throw new UserException("Statistics file " + path + " holds " + file.values()[c] + " for "
                    + NonFiniteValue.channelName(c) + ", expected a finite " + (positive ? "positive " : "")
                    + "number. Compute the statistics again, or leave out the channel.");
            }
        }
        return values;
    }
}
