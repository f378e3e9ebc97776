package org.isobar.metrics;

import java.lang.foreign.MemorySegment;

/**
 * Latitude-weighted correlation of prediction and target, the tutorial's "ACC":
 * {@code sum w p t / sqrt(sum w p p * sum w t t)}. No climatology is taken away: the fields are normalized already.
 */
public final class WeightedAcc {
    private WeightedAcc() { }

    /**
     * The correlation of each channel of one sample.
     *
     * @param prediction (C, H, W), floats
     * @param target     (C, H, W), floats
     * @return (C); NaN where a field is zero
     */
    public static double[] perChannel(MemorySegment prediction, MemorySegment target,
            int channels, int height, int width) {
        double[] weights = LatitudeWeights.of(height);
        WeightedRmse.checkSize(prediction, channels, height, width);
        WeightedRmse.checkSize(target, channels, height, width);
        double[] acc = new double[channels];
        for (int channel = 0; channel < channels; channel++) {
            double both = 0;
            double predicted = 0;
            double truth = 0;
            for (int row = 0; row < height; row++) {
                long first = ((long) channel * height + row) * width;
                for (long i = first; i < first + width; i++) {
                    double p = WeightedRmse.value(prediction, i);
                    double t = WeightedRmse.value(target, i);
                    both += weights[row] * p * t;
                    predicted += weights[row] * p * p;
                    truth += weights[row] * t * t;
                }
            }
            acc[channel] = both / Math.sqrt(predicted * truth);
        }
        return acc;
    }
}
