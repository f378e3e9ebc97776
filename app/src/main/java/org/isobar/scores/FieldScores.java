package org.isobar.scores;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.List;
import java.util.Optional;
import jdk.incubator.vector.DoubleVector;
import jdk.incubator.vector.FloatVector;
import jdk.incubator.vector.VectorOperators;
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
        long whole = columns - columns % F64.length();
        List<Sums> sums = forecasts.stream().map(forecast -> new Sums()).toList();
        for (int row = 0; row < rows; row++) {
            double weight = weights[row] / points;
            for (int i = 0; i < forecasts.size(); i++) {
                sums.get(i).addVectors(weight, forecasts.get(i), truth, normal, row * columns, whole);
                sums.get(i).addPoints(weight, forecasts.get(i), truth, normal, row * columns + whole, columns - whole);
            }
        }
        return sums.stream().map(each -> new FieldScores(each.squared, each.absolute, each.signed,
            climatology.isPresent() ? each.correlation() : Double.NaN,
            climatology.isPresent() ? each.deviation() : Double.NaN)).toList();
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

    /** The sum of the lanes from the first to the last; the library's reduction has no fixed order. */
    private static double sum(DoubleVector lanes) {
        return lanes.lane(0) + lanes.lane(1) + lanes.lane(2) + lanes.lane(3);
    }

    /** Weighted sums over points: of errors, and of the anomalies a of the forecast and o of the truth. */
    private static final class Sums {
        private double squared;
        private double absolute;
        private double signed;
        private double products; // a o
        private double forecastSquared; // a^2
        private double truthSquared; // o^2
        private double anomalies; // a

        /** Adds {@code count} points of a row, whole vectors. One pass over the fields has all sums. */
        void addVectors(double weight, MemorySegment forecast, MemorySegment truth, MemorySegment climatology,
                long first, long count) {
            DoubleVector e1 = DoubleVector.zero(F64);
            DoubleVector e2 = e1;
            DoubleVector eAbsolute = e1;
            DoubleVector ao = e1;
            DoubleVector a1 = e1;
            DoubleVector a2 = e1;
            DoubleVector o2 = e1;
            for (long i = first; i < first + count; i += F64.length()) {
                DoubleVector f = values(forecast, i);
                DoubleVector t = values(truth, i);
                DoubleVector c = values(climatology, i);
                DoubleVector e = f.sub(t);
                DoubleVector a = f.sub(c);
                DoubleVector o = t.sub(c);
                e1 = e1.add(e);
                e2 = e2.add(e.mul(e));
                eAbsolute = eAbsolute.add(e.abs());
                ao = ao.add(a.mul(o));
                a1 = a1.add(a);
                a2 = a2.add(a.mul(a));
                o2 = o2.add(o.mul(o));
            }
            squared += weight * sum(e2);
            absolute += weight * sum(eAbsolute);
            signed += weight * sum(e1);
            products += weight * sum(ao);
            forecastSquared += weight * sum(a2);
            truthSquared += weight * sum(o2);
            anomalies += weight * sum(a1);
        }

        /** Adds {@code count} points of a row. */
        void addPoints(double weight, MemorySegment forecast, MemorySegment truth, MemorySegment climatology,
                long first, long count) {
            for (long i = first; i < first + count; i++) {
                double error = value(forecast, i) - value(truth, i);
                double a = value(forecast, i) - value(climatology, i);
                double o = value(truth, i) - value(climatology, i);
                squared += weight * (error * error);
                absolute += weight * Math.abs(error);
                signed += weight * error;
                products += weight * (a * o);
                forecastSquared += weight * (a * a);
                truthSquared += weight * (o * o);
                anomalies += weight * a;
            }
        }

        double correlation() {
            return products / Math.sqrt(forecastSquared * truthSquared);
        }

        double deviation() { // rounding may leave a negative difference
            return Math.sqrt(Math.max(0, forecastSquared - anomalies * anomalies));
        }
    }
}
