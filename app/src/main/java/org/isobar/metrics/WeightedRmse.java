package org.isobar.metrics;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

import org.isobar.tensor.DType;

/**
 * Latitude-weighted root-mean-square error: {@code sqrt(mean over rows and columns of w(row) (prediction - target)^2)}.
 * Single precision in, double precision throughout.
 */
public final class WeightedRmse {
    private WeightedRmse() { }

    /**
     * The error of each channel of one sample.
     *
     * @param prediction (C, H, W), floats
     * @param target     (C, H, W), floats
     * @return (C); NaN where the poles' slightly negative weights outweigh an error that lies at the poles alone
     */
    public static double[] perChannel(MemorySegment prediction, MemorySegment target,
            int channels, int height, int width) {
        double[] weights = LatitudeWeights.of(height);
        checkSize(prediction, channels, height, width);
        checkSize(target, channels, height, width);
        double[] rmse = new double[channels];
        for (int channel = 0; channel < channels; channel++) {
            double sum = 0;
            for (int row = 0; row < height; row++) {
                double squares = 0;
                long first = ((long) channel * height + row) * width;
                for (long i = first; i < first + width; i++) {
                    double difference = (double) value(prediction, i) - value(target, i);
                    squares += difference * difference;
                }
                sum += weights[row] * squares;
            }
            rmse[channel] = Math.sqrt(sum / ((double) height * width));
        }
        return rmse;
    }

    static float value(MemorySegment field, long index) {
        return field.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, index);
    }

    static void checkSize(MemorySegment field, int channels, int height, int width) {
        long bytes = (long) channels * height * width * DType.F32.bytes();
        if (field.byteSize() != bytes) {
            throw new IllegalArgumentException("a field of (" + channels + ", " + height + ", " + width + ") has "
                + bytes + " bytes, not " + field.byteSize());
        }
    }
}
