package org.isobar.scores;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.Optional;

/**
 * Scores of one forecast field against the truth. All sums are in double precision, first along each row.
 *
 * @param mse      see {@link FieldMetric#MSE}
 * @param mae      see {@link FieldMetric#MAE}
 * @param bias     see {@link FieldMetric#BIAS}
 * @param acc      see {@link FieldMetric#ACC}
 * @param activity see {@link FieldMetric#ACTIVITY}
 */
public record FieldScores(double mse, double mae, double bias, double acc, double activity) {

    /**
     * Scores a field. All fields are (H, W) floats in the same physical units.
     *
     * @param weights     (H), see {@link AreaWeights}
     * @param climatology the climatology of the valid time; without it {@code acc} and {@code activity} are NaN
     * @throws IllegalArgumentException if fields differ in size, or have no whole number of rows
     */
    public static FieldScores of(double[] weights, MemorySegment forecast, MemorySegment truth,
            Optional<MemorySegment> climatology) {
        int rows = weights.length;
        long columns = forecast.byteSize() / Float.BYTES / rows;
        requireSize(forecast, rows * columns);
        requireSize(truth, rows * columns);
        climatology.ifPresent(field -> requireSize(field, rows * columns));
        double points = (double) rows * columns;
        ErrorSums errors = new ErrorSums();
        AnomalySums anomalies = new AnomalySums();
        for (int row = 0; row < rows; row++) {
            errors.add(weights[row] / points, forecast, truth, row * columns, columns);
            if (climatology.isPresent()) {
                anomalies.add(weights[row] / points, forecast, truth, climatology.get(), row * columns, columns);
            }
        }
        double acc = climatology.isPresent() ? anomalies.correlation() : Double.NaN;
        double activity = climatology.isPresent() ? anomalies.deviation() : Double.NaN;
        return new FieldScores(errors.squared, errors.absolute, errors.signed, acc, activity);
    }

    /** The value of a metric. */
    public double value(FieldMetric metric) {
        return switch (metric) {
            case MSE -> mse;
            case MAE -> mae;
            case BIAS -> bias;
            case ACC -> acc;
            case ACTIVITY -> activity;
        };
    }

    private static void requireSize(MemorySegment field, long points) {
        if (points == 0 || field.byteSize() != points * Float.BYTES) {
            throw new IllegalArgumentException("a field has " + field.byteSize() + " bytes, not the " + points
                + " floats of the others, or no whole number of rows");
        }
    }

    private static double value(MemorySegment field, long index) {
        return field.getAtIndex(ValueLayout.JAVA_FLOAT_UNALIGNED, index);
    }

    private static final class ErrorSums {
        private double squared;
        private double absolute;
        private double signed;

        /** Adds the weighted sums of a row. */
        void add(double weight, MemorySegment forecast, MemorySegment truth, long first, long columns) {
            double rowSquared = 0;
            double rowAbsolute = 0;
            double rowSigned = 0;
            for (long i = first; i < first + columns; i++) {
                double error = value(forecast, i) - value(truth, i);
                rowSquared += error * error;
                rowAbsolute += Math.abs(error);
                rowSigned += error;
            }
            squared += weight * rowSquared;
            absolute += weight * rowAbsolute;
            signed += weight * rowSigned;
        }
    }

    private static final class AnomalySums {
        private double both;
        private double forecastSquared;
        private double truthSquared;
        private double mean; // of the forecast's anomaly

        /** Adds the weighted sums of a row. */
        void add(double weight, MemorySegment forecast, MemorySegment truth, MemorySegment climatology, long first,
                long columns) {
            double rowBoth = 0;
            double rowForecast = 0;
            double rowTruth = 0;
            double rowMean = 0;
            for (long i = first; i < first + columns; i++) {
                double normal = value(climatology, i);
                double a = value(forecast, i) - normal;
                double o = value(truth, i) - normal;
                rowBoth += a * o;
                rowForecast += a * a;
                rowTruth += o * o;
                rowMean += a;
            }
            both += weight * rowBoth;
            forecastSquared += weight * rowForecast;
            truthSquared += weight * rowTruth;
            mean += weight * rowMean;
        }

        double correlation() {
            return both / Math.sqrt(forecastSquared * truthSquared);
        }

        double deviation() {
            return Math.sqrt(Math.max(0, forecastSquared - mean * mean)); // rounding may leave a negative difference
        }
    }
}
