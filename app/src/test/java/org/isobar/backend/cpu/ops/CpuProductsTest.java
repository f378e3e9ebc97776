package org.isobar.backend.cpu.ops;

import static org.isobar.backend.cpu.CpuFixture.EPSILON;
import static org.isobar.backend.cpu.CpuFixture.values;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.EnumSet;
import java.util.List;
import java.util.stream.Stream;

import org.isobar.backend.cpu.CpuFixture;
import org.isobar.device.ops.Epilogue;
import org.isobar.device.ops.WriteMode;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.FieldSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Products against sums in double precision. */
final class CpuProductsTest {
    /** {@link CpuFixture#EPSILON} of BF16. */
    private static final double BF16_EPSILON = 0x1p-8;

    /** An element of a matrix or its transpose. */
    private interface Element {
        double at(int row, int column);
    }

    private static Stream<Arguments> shapes() {
        return CpuFixture.TYPES.stream().flatMap(dtype -> Stream.of(new int[] {1, 1, 1}, new int[] {3, 5, 7},
            new int[] {70, 33, 65}, new int[] {200, 130, 50}, new int[] {129, 400, 17}, new int[] {65, 208, 32},
            new int[] {33, 20, 1024})
            .map(mnk -> Arguments.of(dtype, mnk[0], mnk[1], mnk[2])));
    }

    @ParameterizedTest
    @MethodSource("shapes")
    void productsAreThoseOfDoublePrecision(DType dtype, int m, int n, int k) {
        try (CpuFixture cpu = new CpuFixture(2)) {
            Tensor x = cpu.cast(cpu.random(1, m, k), dtype);
            Tensor weight = cpu.cast(cpu.random(2, n, k), dtype);
            Tensor dy = cpu.cast(cpu.random(3, m, n), dtype);
            Element xs = matrix(cpu, x, k);
            Element weights = matrix(cpu, weight, k);
            Element dys = matrix(cpu, dy, n);

            Tensor y = cpu.poisoned(dtype, m, n);
            cpu.ops().products().linear(y, x, weight, Epilogue.NONE);
            assertProduct(cpu, y, m, n, k, xs, transposed(weights), (row, column) -> 0);
            Tensor single = cpu.poisoned(m, n);
            cpu.ops().products().linear(single, x, weight, Epilogue.NONE);
            assertProduct(cpu, single, m, n, k, xs, transposed(weights), (row, column) -> 0);

            Tensor dx = cpu.poisoned(dtype, m, k);
            cpu.ops().products().linearBackwardInput(dx, dy, weight, WriteMode.OVERWRITE);
            assertProduct(cpu, dx, m, k, n, dys, weights, (row, column) -> 0);
            Element former = matrix(cpu, dx, k);
            cpu.ops().products().linearBackwardInput(dx, dy, weight, WriteMode.ADD);
            assertProduct(cpu, dx, m, k, n, dys, weights, former);

            Tensor dWeight = cpu.random(4, n, k);
            former = matrix(cpu, dWeight, k);
            cpu.ops().products().linearBackwardWeight(dWeight, dy, x);
            assertProduct(cpu, dWeight, n, k, m, transposed(dys), xs, former);

            Tensor dBias = cpu.random(5, n);
            former = matrix(cpu, dBias, n);
            cpu.ops().products().biasBackward(dBias, dy);
            assertProduct(cpu, dBias, 1, n, m, (row, column) -> 1, dys, former);
        }
    }

    @ParameterizedTest
    @FieldSource("org.isobar.backend.cpu.CpuFixture#TYPES")
    void epiloguesFollowTheProduct(DType dtype) {
        int m = 67;
        int n = 203;
        int k = 31;
        try (CpuFixture cpu = new CpuFixture(2)) {
            Tensor x = cpu.cast(cpu.random(1, m, k), dtype);
            Tensor weight = cpu.cast(cpu.random(2, n, k), dtype);
            for (DType result : EnumSet.of(dtype, DType.F32)) {
                Tensor bias = cpu.cast(cpu.random(3, n), result);
                Element biases = matrix(cpu, bias, n);
                Tensor y = cpu.poisoned(result, m, n);
                cpu.ops().products().linear(y, x, weight, new Epilogue.Bias(bias));
                assertProduct(cpu, y, m, n, k, matrix(cpu, x, k), transposed(matrix(cpu, weight, k)),
                    (row, column) -> biases.at(0, column));
            }

            Tensor bias = cpu.cast(cpu.random(3, n), dtype);
            Tensor y = cpu.poisoned(dtype, m, n);
            cpu.ops().products().linear(y, x, weight, new Epilogue.Bias(bias));
            Tensor preActivation = cpu.poisoned(dtype, m, n);
            Tensor activated = cpu.poisoned(dtype, m, n);
            cpu.ops().products().linear(activated, x, weight, new Epilogue.BiasGelu(bias, preActivation));
            assertArrayEquals(floats(cpu, y), floats(cpu, preActivation));
            Tensor expected = cpu.poisoned(dtype, m, n);
            cpu.ops().products().biasGeluBackward(cpu.poisoned(dtype, m, n), expected, cpu.random(4, n),
                cpu.cast(cpu.random(5, m, n), dtype), y); // backward computes GELU again
            assertArrayEquals(floats(cpu, expected), floats(cpu, activated));
        }
    }

    @ParameterizedTest
    @FieldSource("org.isobar.backend.cpu.CpuFixture#TYPES")
    void bitsDoNotDependOnTheNumberOfThreads(DType dtype) {
        List<float[]> single = results(dtype, 1);
        for (int threads = 2; threads <= 3; threads++) {
            List<float[]> several = results(dtype, threads);
            for (int i = 0; i < single.size(); i++) {
                assertArrayEquals(single.get(i), several.get(i), "result " + i + " on " + threads + " threads");
            }
        }
    }

    private static List<float[]> results(DType dtype, int threads) {
        int m = 1030;
        int n = 208;
        int k = 60;
        try (CpuFixture cpu = new CpuFixture(threads)) {
            Tensor x = cpu.cast(cpu.random(1, m, k), dtype);
            Tensor weight = cpu.cast(cpu.random(2, n, k), dtype);
            Tensor bias = cpu.cast(cpu.random(3, n), dtype);
            Tensor y = cpu.poisoned(dtype, m, n);
            Tensor preActivation = cpu.poisoned(dtype, m, n);
            Tensor dx = cpu.poisoned(dtype, m, k);
            Tensor dWeight = cpu.random(4, n, k);
            Tensor dBias = cpu.random(5, n);
            cpu.ops().products().linear(y, x, weight, new Epilogue.BiasGelu(bias, preActivation));
            cpu.ops().products().linearBackwardInput(dx, y, weight, WriteMode.OVERWRITE);
            cpu.ops().products().linearBackwardWeight(dWeight, y, x);
            cpu.ops().products().biasBackward(dBias, y);
            return Stream.of(y, preActivation, dx, dWeight, dBias).map(tensor -> floats(cpu, tensor)).toList();
        }
    }

    private static float[] floats(CpuFixture cpu, Tensor tensor) {
        return values(cpu.cast(tensor, DType.F32));
    }

    private static Element matrix(CpuFixture cpu, Tensor tensor, int columns) {
        float[] values = floats(cpu, tensor);
        return (row, column) -> values[row * columns + column];
    }

    private static Element transposed(Element matrix) {
        return (row, column) -> matrix.at(column, row);
    }

    /**
     * {@code c = a b + former}; a sum of k products is off by at most about k roundings of its absolute terms, and
     * what is stored in BF16 by one more.
     */
    private static void assertProduct(CpuFixture cpu, Tensor c, int m, int n, int k, Element a, Element b,
        Element former) {
        float[] actual = floats(cpu, c);
        double stored = c.dtype() == DType.BF16 ? BF16_EPSILON : 0;
        for (int row = 0; row < m; row++) {
            for (int column = 0; column < n; column++) {
                double sum = former.at(row, column);
                double magnitude = Math.abs(sum);
                for (int i = 0; i < k; i++) {
                    double term = a.at(row, i) * b.at(i, column);
                    sum += term;
                    magnitude += Math.abs(term);
                }
                double bound = (k + 1) * EPSILON * magnitude;
                assertEquals(sum, actual[row * n + column], bound + stored * (Math.abs(sum) + bound),
                    "row " + row + ", column " + column);
            }
        }
    }
}
