package org.isobar.data.synthetic;

import java.util.stream.IntStream;

import org.isobar.data.Era5Variable;

/**
 * Computes mean and standard deviation of each variable over all frames, and the mean over time at each point. Frames
 * are added in order, so that the sums do not depend on the number of threads.
 */
final class FieldStatistics {
    private final double[] sums = new double[Era5Variable.COUNT];
    private final double[] squares = new double[Era5Variable.COUNT];
    private final double[][] pointSums;
    private long frames;

    FieldStatistics(int points) {
        pointSums = new double[Era5Variable.COUNT][points];
    }

    /** Adds a frame. */
    void add(WeatherFrame frame) {
        frames++;
        IntStream.range(0, Era5Variable.COUNT).parallel().forEach(c -> {
            float[] field = frame.field(Era5Variable.values()[c]);
            double[] atPoint = pointSums[c];
            double sum = 0;
            double square = 0;
            for (int p = 0; p < field.length; p++) {
                double value = field[p];
                sum += value;
                square += value * value;
                atPoint[p] += value;
            }
            sums[c] += sum;
            squares[c] += square;
        });
    }

    /** Mean of each variable over grid points and time; grid points have equal weights. */
    double[] means() {
        return IntStream.range(0, sums.length).mapToDouble(c -> sums[c] / values()).toArray();
    }

    /** Standard deviation of each variable over grid points and time. */
    double[] deviations() {
        double[] means = means();
        return IntStream.range(0, sums.length)
            .mapToDouble(c -> Math.sqrt(squares[c] / values() - means[c] * means[c])).toArray();
    }

    /** Mean over time, (variable, height, width). */
    double[] timeMeans() {
        int points = pointSums[0].length;
        return IntStream.range(0, pointSums.length * points)
            .mapToDouble(i -> pointSums[i / points][i % points] / frames).toArray();
    }

    private double values() {
        return (double) frames * pointSums[0].length;
    }
}
