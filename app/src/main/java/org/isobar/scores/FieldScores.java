package org.isobar.scores;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Optional;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
import jdk.incubator.vector.VectorShape;
import jdk.incubator.vector.VectorSpecies;

/**
 * Scores of one forecast field against the truth. All sums are in double precision.
 *
 * @param mse      see {@link FieldMetric#MSE}
 * @param mae      see {@link FieldMetric#MAE}
 * @param bias     see {@link FieldMetric#BIAS}
 * @param acc      see {@link FieldMetric#ACC}
 * @param activity see {@link FieldMetric#ACTIVITY}
 */
public record FieldScores(double mse, double mae, double bias, double acc, double activity) {
    private static final int LANES = 8; // on every processor, so that sums have the same order
    private static final VectorSpecies<Double> F64 = DoubleVector.SPECIES_PREFERRED.length() < LANES
        ? DoubleVector.SPECIES_PREFERRED : DoubleVector.SPECIES_512;
    private static final VectorSpecies<Float> F32 =
        VectorSpecies.of(float.class, VectorShape.forBitSize(F64.length() * Float.SIZE));
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
        return of(weights, List.of(forecast), truth, climatology).getFirst();
    }

    /**
     * Scores several forecasts of the same field, each as the other method does. They take turns at each row, because
     * reading the truth and the climatology from memory takes as long as summing.
     *
     * @throws IllegalArgumentException as the other method does
     */
    public static List<FieldScores> of(double[] weights, List<MemorySegment> forecasts, MemorySegment truth,
            Optional<MemorySegment> climatology) {
        int rows = weights.length;
        long columns = truth.byteSize() / Float.BYTES / rows;
        requireSize(truth, rows * columns);
        forecasts.forEach(field -> requireSize(field, rows * columns));
        climatology.ifPresent(field -> requireSize(field, rows * columns));
        double points = (double) rows * columns;
        MemorySegment normal = climatology.orElse(truth);
        long whole = columns - columns % LANES;
        List<Sums> sums = forecasts.stream().map(forecast -> new Sums()).toList();
        for (int row = 0; row < rows; row++) {
            double weight = weights[row] / points;
            for (int i = 0; i < forecasts.size(); i++) {
                for (int lane = 0; lane < LANES; lane += F64.length()) {
                    sums.get(i).addVectors(weight, forecasts.get(i), truth, normal, row * columns, whole, lane);
                }
                sums.get(i).addPoints(weight, forecasts.get(i), truth, normal, row * columns + whole, columns - whole);
            }
        }
        return sums.stream().map(each -> each.scores(climatology.isPresent())).toList();
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
        return (DoubleVector) FloatVector.fromMemorySegment(F32, field, index * Float.BYTES, ORDER)
            .convertShape(VectorOperators.F2D, F64, 0); // castShape may remain a call in compiled loops
    }

    /** Weighted sums over points, in lanes: of errors e, and of anomalies a of the forecast and o of the truth. */
    private static final class Sums {
        private final double[] signed = new double[LANES]; // e
        private final double[] absolute = new double[LANES]; // |e|
        private final double[] squared = new double[LANES]; // e^2
        private final double[] products = new double[LANES]; // a o
        private final double[] anomalies = new double[LANES]; // a
        private final double[] forecastSquared = new double[LANES]; // a^2
        private final double[] truthSquared = new double[LANES]; // o^2

        /** Adds {@code count} points of a row to the lanes of a vector. One pass over the fields has all sums. */
        void addVectors(double weight, MemorySegment forecast, MemorySegment truth, MemorySegment climatology,
                long first, long count, int lane) {
            DoubleVector e1 = DoubleVector.zero(F64);
            DoubleVector e2 = e1;
            DoubleVector eAbsolute = e1;
            DoubleVector ao = e1;
            DoubleVector a1 = e1;
            DoubleVector a2 = e1;
            DoubleVector o2 = e1;
            for (long i = first + lane; i < first + count; i += LANES) {
                DoubleVector f = values(forecast, i);
                DoubleVector t = values(truth, i);
                DoubleVector c = values(climatology, i);
                DoubleVector e = f.sub(t);
                DoubleVector a = f.sub(c);
                DoubleVector o = t.sub(c);
                e1 = e1.add(e);
                e2 = e.fma(e, e2);
                eAbsolute = eAbsolute.add(e.abs());
                ao = a.fma(o, ao);
                a1 = a1.add(a);
                a2 = a.fma(a, a2);
                o2 = o.fma(o, o2);
            }
            add(signed, lane, weight, e1);
            add(absolute, lane, weight, eAbsolute);
            add(squared, lane, weight, e2);
            add(products, lane, weight, ao);
            add(anomalies, lane, weight, a1);
            add(forecastSquared, lane, weight, a2);
            add(truthSquared, lane, weight, o2);
        }

        private static void add(double[] lanes, int lane, double weight, DoubleVector values) {
            values.mul(weight).add(DoubleVector.fromArray(F64, lanes, lane)).intoArray(lanes, lane);
        }

        /** Adds {@code count} points of a row. */
        void addPoints(double weight, MemorySegment forecast, MemorySegment truth, MemorySegment climatology,
                long first, long count) {
            for (long i = first; i < first + count; i++) {
                double error = value(forecast, i) - value(truth, i);
                double a = value(forecast, i) - value(climatology, i);
                double o = value(truth, i) - value(climatology, i);
                signed[0] += weight * error;
                absolute[0] += weight * Math.abs(error);
                squared[0] += weight * (error * error);
                products[0] += weight * (a * o);
                anomalies[0] += weight * a;
                forecastSquared[0] += weight * (a * a);
                truthSquared[0] += weight * (o * o);
            }
        }

        FieldScores scores(boolean withAnomalies) {
            return new FieldScores(sum(squared), sum(absolute), sum(signed), withAnomalies ? correlation() : Double.NaN,
                withAnomalies ? deviation() : Double.NaN);
        }

        private double correlation() {
            return sum(products) / Math.sqrt(sum(forecastSquared) * sum(truthSquared));
        }

        private double deviation() { // rounding may leave a negative difference
            double mean = sum(anomalies);
            return Math.sqrt(Math.max(0, sum(forecastSquared) - mean * mean));
        }

        /** The sum of the lanes from the first to the last. */
        private static double sum(double[] lanes) {
            double sum = 0;
            for (double lane : lanes) {
                sum += lane;
            }
            return sum;
        }
    }
}
