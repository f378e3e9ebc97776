package org.isobar.scores;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Optional;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorSpecies;

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
    // four lanes on every processor, so that sums have the same order
    private static final VectorSpecies<Double> F64 = DoubleVector.SPECIES_256;
    private static final VectorSpecies<Float> F32 = FloatVector.SPECIES_128;
    private static final ByteOrder ORDER = ByteOrder.nativeOrder();

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

    private static DoubleVector values(MemorySegment field, long index) {
        return (DoubleVector) FloatVector.fromMemorySegment(F32, field, index * Float.BYTES, ORDER).castShape(F64, 0);
    }

    /** The sum of the lanes from the first to the last; the library's reduction has no fixed order. */
    private static double sum(DoubleVector lanes) {
        return lanes.lane(0) + lanes.lane(1) + lanes.lane(2) + lanes.lane(3);
    }

    private static final class ErrorSums {
        private double squared;
        private double absolute;
        private double signed;

        /** Adds the weighted sums of a row. */
        void add(double weight, MemorySegment forecast, MemorySegment truth, long first, long columns) {
            DoubleVector squares = DoubleVector.zero(F64);
            DoubleVector magnitudes = squares;
            DoubleVector errors = squares;
            long i = first;
            for (; i <= first + columns - F64.length(); i += F64.length()) {
                DoubleVector error = values(forecast, i).sub(values(truth, i));
                squares = squares.add(error.mul(error));
                magnitudes = magnitudes.add(error.abs());
                errors = errors.add(error);
            }
            double rowSquared = sum(squares);
            double rowAbsolute = sum(magnitudes);
            double rowSigned = sum(errors);
            for (; i < first + columns; i++) {
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
            DoubleVector products = DoubleVector.zero(F64);
            DoubleVector forecastSquares = products;
            DoubleVector truthSquares = products;
            DoubleVector means = products;
            long i = first;
            for (; i <= first + columns - F64.length(); i += F64.length()) {
                DoubleVector normal = values(climatology, i);
                DoubleVector a = values(forecast, i).sub(normal);
                DoubleVector o = values(truth, i).sub(normal);
                products = products.add(a.mul(o));
                forecastSquares = forecastSquares.add(a.mul(a));
                truthSquares = truthSquares.add(o.mul(o));
                means = means.add(a);
            }
            double rowBoth = sum(products);
            double rowForecast = sum(forecastSquares);
            double rowTruth = sum(truthSquares);
            double rowMean = sum(means);
            for (; i < first + columns; i++) {
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
