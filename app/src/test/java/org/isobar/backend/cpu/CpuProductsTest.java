package org.isobar.backend.cpu;

import static org.isobar.backend.cpu.CpuFixture.EPSILON;
import static org.isobar.backend.cpu.CpuFixture.values;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;

import org.isobar.device.Epilogue;
import org.isobar.device.Write;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Products against sums in double precision. */
final class CpuProductsTest {
    /** An element of a matrix or its transpose. */
    private interface Element {
        double at(int row, int column);
    }

    @ParameterizedTest
    @CsvSource({"1, 1, 1", "3, 5, 7", "70, 33, 65", "200, 130, 50", "129, 400, 17"})
    void productsAreThoseOfDoublePrecision(int m, int n, int k) {
        try (CpuFixture cpu = new CpuFixture(2)) {
            Tensor x = cpu.random(1, m, k);
            Tensor weight = cpu.random(2, n, k);
            Tensor dy = cpu.random(3, m, n);
            Element xs = matrix(x, k);
            Element weights = matrix(weight, k);
            Element dys = matrix(dy, n);

            Tensor y = cpu.poisoned(m, n);
            cpu.ops().linear(y, x, weight, Epilogue.NONE);
            assertProduct(y, m, n, k, xs, transposed(weights), (row, column) -> 0);

            Tensor dx = cpu.poisoned(m, k);
            cpu.ops().linearBackwardInput(dx, dy, weight, Write.OVERWRITE);
            assertProduct(dx, m, k, n, dys, weights, (row, column) -> 0);
            Element former = matrix(dx, k);
            cpu.ops().linearBackwardInput(dx, dy, weight, Write.ADD);
            assertProduct(dx, m, k, n, dys, weights, former);

            Tensor dWeight = cpu.random(4, n, k);
            former = matrix(dWeight, k);
            cpu.ops().linearBackwardWeight(dWeight, dy, x);
            assertProduct(dWeight, n, k, m, transposed(dys), xs, former);

            Tensor dBias = cpu.random(5, n);
            former = matrix(dBias, n);
            cpu.ops().biasBackward(dBias, dy);
            assertProduct(dBias, 1, n, m, (row, column) -> 1, dys, former);
        }
    }

    @Test
    void epiloguesFollowTheProduct() {
        int m = 67;
        int n = 203;
        int k = 31;
        try (CpuFixture cpu = new CpuFixture(2)) {
            Tensor x = cpu.random(1, m, k);
            Tensor weight = cpu.random(2, n, k);
            Tensor bias = cpu.random(3, n);
            Element biases = matrix(bias, n);
            Tensor y = cpu.poisoned(m, n);
            cpu.ops().linear(y, x, weight, new Epilogue.Bias(bias));
            assertProduct(y, m, n, k, matrix(x, k), transposed(matrix(weight, k)),
                (row, column) -> biases.at(0, column));

            Tensor preActivation = cpu.poisoned(m, n);
            Tensor activated = cpu.poisoned(m, n);
            cpu.ops().linear(activated, x, weight, new Epilogue.BiasGelu(bias, preActivation));
            assertArrayEquals(values(y), values(preActivation));
            Tensor expected = cpu.poisoned(m, n);
            cpu.ops().gelu(expected, y);
            assertArrayEquals(values(expected), values(activated));
        }
    }

    @Test
    void bitsDoNotDependOnTheNumberOfThreads() {
        List<float[]> single = results(1);
        for (int threads = 2; threads <= 3; threads++) {
            List<float[]> several = results(threads);
            for (int i = 0; i < single.size(); i++) {
                assertArrayEquals(single.get(i), several.get(i), "result " + i + " on " + threads + " threads");
            }
        }
    }

    private static List<float[]> results(int threads) {
        int m = 1030;
        int n = 96;
        int k = 60;
        try (CpuFixture cpu = new CpuFixture(threads)) {
            Tensor x = cpu.random(1, m, k);
            Tensor weight = cpu.random(2, n, k);
            Tensor y = cpu.poisoned(m, n);
            Tensor dx = cpu.poisoned(m, k);
            Tensor dBias = cpu.random(3, n);
            cpu.ops().linear(y, x, weight, new Epilogue.Bias(dBias));
            List<float[]> results = new ArrayList<>(List.of(values(y)));
            cpu.ops().linearBackwardInput(dx, y, weight, Write.OVERWRITE);
            cpu.ops().linearBackwardWeight(weight, y, x);
            cpu.ops().biasBackward(dBias, y);
            results.addAll(List.of(values(dx), values(weight), values(dBias)));
            return results;
        }
    }

    private static Element matrix(Tensor tensor, int columns) {
        float[] values = values(tensor);
        return (row, column) -> values[row * columns + column];
    }

    private static Element transposed(Element matrix) {
        return (row, column) -> matrix.at(column, row);
    }

    /** {@code c = a b + former}; a sum of k products is off by at most about k roundings of its absolute terms. */
    private static void assertProduct(Tensor c, int m, int n, int k, Element a, Element b, Element former) {
        float[] actual = values(c);
        for (int row = 0; row < m; row++) {
            for (int column = 0; column < n; column++) {
                double sum = former.at(row, column);
                double magnitude = Math.abs(sum);
                for (int i = 0; i < k; i++) {
                    double term = a.at(row, i) * b.at(i, column);
                    sum += term;
                    magnitude += Math.abs(term);
                }
                assertEquals(sum, actual[row * n + column], (k + 1) * EPSILON * magnitude,
                    "row " + row + ", column " + column);
            }
        }
    }
}
