package org.isobar.scores;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

import org.jtransforms.fft.DoubleFFT_1D;

/**
 * Power of a field at each zonal wavenumber: the area-weighted mean over rows of {@code |F(k)|^2}, where
 * {@code F(k) = 1/W sum_x f(x) exp(-2 pi i k x / W)}; twice that for wavenumbers that stand for k and -k. The sum over
 * all wavenumbers is therefore the area-weighted mean of the squared field (Parseval). Thread-safe.
 *
 * <p>Two real rows x and y are transformed as one complex row z = x + i y, because
 * {@code |Z(k)|^2 + |Z(-k)|^2 = 2 |X(k)|^2 + 2 |Y(k)|^2}.
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
        double[] squares = new double[2 * columns]; // of the real and the imaginary part of each coefficient
        float[] values = new float[2 * columns];
        double[] pair = new double[2 * columns];
        for (int y = 0; y < weights.length; y += 2) {
            int rows = Math.min(2, weights.length - y);
            MemorySegment.copy(field, ValueLayout.JAVA_FLOAT_UNALIGNED, (long) y * columns * Float.BYTES, values, 0,
                rows * columns);
            join(values, Math.sqrt(weights[y]), rows == 2 ? Math.sqrt(weights[y + 1]) : 0, pair);
            transform.complexForward(pair);
            addSquares(squares, pair);
        }
        double[] power = new double[wavenumbers(columns)];
        double scale = 1.0 / columns / columns / weights.length;
        for (int k = 0; k < power.length; k++) {
            int opposite = (columns - k) % columns;
            power[k] = scale * (k == opposite ? magnitude(squares, k) : magnitude(squares, k)
                + magnitude(squares, opposite));
        }
        return power;
    }

    /** Two rows as the real and the imaginary parts of one, each times a factor. */
    private void join(float[] rows, double first, double second, double[] pair) {
        for (int x = 0; x < columns; x++) {
            pair[2 * x] = first * rows[x];
            pair[2 * x + 1] = second * rows[columns + x];
        }
    }

    private static void addSquares(double[] squares, double[] values) {
        for (int i = 0; i < values.length; i++) {
            squares[i] += values[i] * values[i];
        }
    }

    private static double magnitude(double[] squares, int k) {
        return squares[2 * k] + squares[2 * k + 1];
    }
}
