package org.isobar.scores;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

import org.jtransforms.fft.DoubleFFT_1D;

/**
 * Power of a field at each zonal wavenumber: the area-weighted mean over rows of {@code |F(k)|^2}, where
 * {@code F(k) = 1/W sum_x f(x) exp(-2 pi i k x / W)}; twice that for wavenumbers that stand for k and -k. The sum over
 * all wavenumbers is therefore the area-weighted mean of the squared field (Parseval). Thread-safe.
 */
public final class ZonalSpectrum {
    private final double[] weights;
    private final int columns;
    private final DoubleFFT_1D transform;

    /**
     * Prepares the transform of rows.
     *
     * @param weights (H), see {@link AreaWeights}
     * @param columns W, 2 or more
     */
    public ZonalSpectrum(double[] weights, int columns) {
        if (columns < 2) {
            throw new IllegalArgumentException("a row has two points at least, not " + columns);
        }
        this.weights = weights;
        this.columns = columns;
        transform = new DoubleFFT_1D(columns);
    }

    /** Number of wavenumbers of rows of W points, W / 2 + 1: 0 and those up to half the number of points. */
    public static int wavenumbers(int columns) {
        return columns / 2 + 1;
    }

    /**
     * Computes a spectrum.
     *
     * @param field (H, W), floats
     * @return (W / 2 + 1), in squared units of the field
     * @throws IllegalArgumentException if the field has another size
     */
    public double[] power(MemorySegment field) {
        if (field.byteSize() != (long) weights.length * columns * Float.BYTES) {
            throw new IllegalArgumentException("a field of " + field.byteSize() + " bytes is not " + weights.length
                + " rows of " + columns + " floats");
        }
        double[] squares = new double[columns];
        float[] values = new float[columns];
        double[] row = new double[columns];
        for (int y = 0; y < weights.length; y++) {
            MemorySegment.copy(field, ValueLayout.JAVA_FLOAT_UNALIGNED, (long) y * columns * Float.BYTES, values, 0,
                columns);
            widen(values, row);
            transform.realForward(row);
            addSquares(squares, weights[y], row);
        }
        double[] power = magnitudes(squares);
        double scale = 1.0 / columns / columns / weights.length;
        for (int k = 0; k < power.length; k++) {
            power[k] *= scale * (k == 0 || 2 * k == columns ? 1 : 2);
        }
        return power;
    }

    private static void widen(float[] values, double[] row) {
        for (int x = 0; x < row.length; x++) {
            row[x] = values[x];
        }
    }

    private static void addSquares(double[] squares, double weight, double[] values) {
        for (int i = 0; i < values.length; i++) {
            squares[i] += weight * (values[i] * values[i]);
        }
    }

    /**
     * Squared magnitudes of coefficients whose parts are in the library's order: element 2k is of the real part of k,
     * 2k + 1 of the imaginary part; element 1 is of the real part of W / 2 if W is even, else of the imaginary part of
     * (W - 1) / 2.
     */
    private double[] magnitudes(double[] squares) {
        double[] sums = new double[wavenumbers(columns)];
        sums[0] = squares[0];
        for (int k = 1; 2 * k + 1 < columns; k++) {
            sums[k] = squares[2 * k] + squares[2 * k + 1];
        }
        sums[columns / 2] = squares[1] + (columns % 2 == 0 ? 0 : squares[columns - 1]);
        return sums;
    }
}
