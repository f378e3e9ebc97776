package org.isobar.exercise.api;

import java.util.Arrays;

/**
 * A matrix of single-precision numbers, row by row.
 *
 * @param rows    number of rows
 * @param columns number of columns
 * @param values  (rows, columns); shared with the caller, not copied
 */
public record FloatMatrix(int rows, int columns, float[] values) {
    /**
     * Checks the size.
     *
     * @throws IllegalArgumentException if there are not rows x columns values
     */
    public FloatMatrix {
        if (rows < 1 || columns < 1 || values.length != rows * columns) {
            throw new IllegalArgumentException(values.length + " values for " + rows + " x " + columns);
        }
    }

    /** A matrix of zeros. */
    public static FloatMatrix zeros(int rows, int columns) {
        return new FloatMatrix(rows, columns, new float[rows * columns]);
    }

    /** The number in a row and a column, both from 0. */
    public float at(int row, int column) {
        return values[row * columns + column];
    }

    /**
     * The product of this matrix (M, K) and {@code right} (K, N), a new matrix (M, N).
     *
     * @throws IllegalArgumentException if the inner sizes differ
     */
    public FloatMatrix times(FloatMatrix right) {
        if (columns != right.rows) {
            throw new IllegalArgumentException("the product of " + size() + " and " + right.size()
                + ": the inner sizes differ");
        }
        FloatMatrix product = zeros(rows, right.columns);
        for (int i = 0; i < rows; i++) {
            for (int k = 0; k < columns; k++) {
                for (int j = 0; j < right.columns; j++) {
                    product.values[i * right.columns + j] += at(i, k) * right.at(k, j);
                }
            }
        }
        return product;
    }

    /** The transpose, a new matrix (columns, rows). */
    public FloatMatrix transposed() {
        FloatMatrix turned = zeros(columns, rows);
        for (int i = 0; i < rows; i++) {
            for (int j = 0; j < columns; j++) {
                turned.values[j * rows + i] = at(i, j);
            }
        }
        return turned;
    }

    /** Rows and columns, as {@code 4 x 6}. */
    public String size() {
        return rows + " x " + columns;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof FloatMatrix matrix && rows == matrix.rows && columns == matrix.columns
            && Arrays.equals(values, matrix.values);
    }

    @Override
    public int hashCode() {
        return Arrays.hashCode(values);
    }

    @Override
    public String toString() {
        return size() + " " + Arrays.toString(values);
    }
}
