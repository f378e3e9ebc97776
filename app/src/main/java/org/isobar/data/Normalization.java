package org.isobar.data;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.function.IntFunction;
import java.util.stream.IntStream;

import org.isobar.data.channels.ChosenChannels;
import org.isobar.fault.UserException;
import org.isobar.tensor.Shape;

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
        return load(meansFile, stdsFile, IntStream.range(0, channels).toArray(), NonFiniteValue::channelName);
    }

    /**
     * Reads the values of the channels that are chosen of a file. The statistics files have a value for each of its
     * channels, in its order.
     *
     * @param file the file
     * @throws UserException as the other method does, or if they have another number of channels than the file
     */
    static Normalization load(Path meansFile, Path stdsFile, Path file, ChosenChannels choice) {
        for (Path statistics : new Path[] {meansFile, stdsFile}) {
            Shape shape = NpyFile.read(statistics).shape();
            if (!shape.equals(Shape.of(1, choice.stored(), 1, 1))) {
                throw new UserException("Statistics file " + statistics + " has shape " + shape + ", and data file "
                    + file + " has " + choice.stored() + " channels. To read channels by name, compute the statistics "
                    + "of all channels with `isobar data stats`.");
            }
        }
        return load(meansFile, stdsFile, choice.indices(), choice::text);
    }

    private static Normalization load(Path meansFile, Path stdsFile, int[] indices, IntFunction<String> name) {
        Normalization normalization = new Normalization(values(meansFile, indices, name, false),
            values(stdsFile, indices, name, true));
        for (int c = 0; c < indices.length; c++) {
            float spread = normalization.spreads[c];
            if (spread < LEAST_SPREAD || !Float.isFinite(normalization.means[c] / spread)) {
                throw new UserException("Statistics file " + stdsFile + " holds the standard deviation " + spread
                    + " for " + name.apply(c) + ", by which a mean of " + normalization.means[c]
                    + " cannot be divided in single precision. Compute the statistics again, or leave out the "
                    + "channel.");
            }
        }
        return normalization;
    }

    private static float[] values(Path path, int[] indices, IntFunction<String> name, boolean positive) {
        NpyFile file = NpyFile.read(path);
        long[] extents = file.shape().extents();
        int channels = Arrays.stream(indices).max().orElse(-1) + 1;
        if (extents.length != 4 || extents[0] != 1 || extents[2] != 1 || extents[3] != 1 || extents[1] < channels) {
            throw new UserException("Statistics file " + path + " has shape " + file.shape()
                + ", expected [1, C, 1, 1] with C at least " + channels
                + ", the number of channels. Use the statistics of this data set, or configure fewer channels.");
        }
        float[] values = new float[indices.length];
        for (int c = 0; c < indices.length; c++) {
            double value = file.values()[indices[c]];
            values[c] = (float) value;
            if (!Float.isFinite(values[c]) || positive && values[c] <= 0) {
                throw new UserException("Statistics file " + path + " holds " + value + " for "
                    + name.apply(c) + ", expected a finite " + (positive ? "positive " : "")
                    + "number. Compute the statistics again, or leave out the channel.");
            }
        }
        return values;
    }

    /**
     * These channels, followed by constant fields with the mean and standard deviation of their own points, and by
     * channels that are not normalized.
     *
     * @param fields   (K, pixels), none of which has equal values only
     * @param channels number of all channels
     */
    Normalization with(float[] fields, int pixels, int channels) {
        Normalization all = none(channels);
        System.arraycopy(means, 0, all.means, 0, means.length);
        System.arraycopy(spreads, 0, all.spreads, 0, spreads.length);
        for (int k = 0; k < fields.length / pixels; k++) {
            double sum = 0;
            for (int i = k * pixels; i < (k + 1) * pixels; i++) {
                sum += fields[i];
            }
            double squares = 0;
            for (int i = k * pixels; i < (k + 1) * pixels; i++) {
                squares += (fields[i] - sum / pixels) * (fields[i] - sum / pixels);
            }
            all.means[means.length + k] = (float) (sum / pixels);
            all.spreads[means.length + k] = Math.max((float) Math.sqrt(squares / pixels), LEAST_SPREAD);
        }
        return all;
    }
}
