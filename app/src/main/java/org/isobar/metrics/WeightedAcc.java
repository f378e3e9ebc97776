package org.isobar.metrics;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

import org.isobar.device.LatitudeWeights;
import org.isobar.tensor.DType;

/**
 * Latitude-weighted correlation of prediction and target, the tutorial's "ACC":
 * {@code sum w p t / sqrt(sum w p p * sum w t t)}. No climatology is subtracted, because the fields are normalized.
 */
public final class WeightedAcc {
    private WeightedAcc() { }

    /**
     * Computes the correlation of each channel of one sample.
     *
     * @param prediction (C, H, W), floats
     * @param target     (C, H, W), floats
     * @return (C); NaN where a field is zero
     */
    public static double[] perChannel(MemorySegment prediction, MemorySegment target,
            int channels, int height, int width) {
        double[] weights = LatitudeWeights.of(height);
        checkSize(prediction, channels, height, width);
        checkSize(target, channels, height, width);
        double[] acc = new double[channels];
        for (int channel = 0; channel < channels; channel++) {
            double both = 0;
            double predicted = 0;
            double truth = 0;
            for (int row = 0; row < height; row++) {
                long first = ((long) channel * height + row) * width;
                for (long i = first; i < first + width; i++) {
                    double p = value(prediction, i);
                    double t = value(target, i);
                    both += weights[row] * p * t;
                    predicted += weights[row] * p * p;
                    truth += weights[row] * t * t;
                }
            }
            acc[channel] = both / Math.sqrt(predicted * truth);
        }
        return acc;
    }

    private static float value(MemorySegment field, long index) {
        return field.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, index);
    }

    private static void checkSize(MemorySegment field, int channels, int height, int width) {
        long bytes = (long) channels * height * width * DType.F32.bytes();
        if (field.byteSize() != bytes) {
            throw new IllegalArgumentException("a field of (" + channels + ", " + height + ", " + width + ") has "
                + bytes + " bytes, not " + field.byteSize());
        }
    }
}
