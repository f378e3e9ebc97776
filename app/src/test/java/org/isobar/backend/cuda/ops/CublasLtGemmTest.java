package org.isobar.backend.cuda.ops;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

import org.bytedeco.javacpp.Pointer;
import org.isobar.backend.cuda.driver.CudaException;
import org.isobar.backend.cuda.ops.CudaOptions.SinglePrecision;
import org.isobar.backend.cuda.ops.GemmFixture.Matrix;
import org.isobar.device.ops.Epilogue;
import org.isobar.device.ops.WriteMode;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Products of every type, epilogue and way to write against sums in double precision. */
@Tag("cuda")
class CublasLtGemmTest {
    private static final List<int[]> SIZES = List.of(new int[] {1, 1, 1}, new int[] {3, 5, 7}, new int[] {64, 32, 48},
        new int[] {33, 70, 17});

    /** An element of a matrix. */
    private interface Element {
        double at(int row, int column);
    }

    static Stream<Arguments> cases() {
        List<Arguments> cases = new ArrayList<>();
        for (int[] size : SIZES) {
            cases.add(Arguments.of(DType.F32, SinglePrecision.FULL, size[0], size[1], size[2], 0));
            cases.add(Arguments.of(DType.F32, SinglePrecision.TF32, size[0], size[1], size[2], 4));
            cases.add(Arguments.of(DType.F16, SinglePrecision.TF32, size[0], size[1], size[2], 2));
            cases.add(Arguments.of(DType.BF16, SinglePrecision.TF32, size[0], size[1], size[2], 16));
        }
        return cases.stream();
    }

    @ParameterizedTest
    @MethodSource("cases")
    void productsAreThoseOfDoublePrecision(DType dtype, SinglePrecision single, int m, int n, int k, int shift) {
        try (GemmFixture gpu = new GemmFixture(single)) {
            Tensor x = gpu.tensor(dtype, shift, m, k);
            Tensor weight = gpu.tensor(dtype, shift, n, k);
            Tensor dy = gpu.tensor(dtype, shift, m, n);
            Matrix xs = gpu.fill(x, 1);
            Matrix weights = gpu.fill(weight, 2);
            Matrix dys = gpu.fill(dy, 3);
            Bounds bounds = new Bounds(dtype, single);

            Tensor dx = gpu.tensor(dtype, shift, m, k);
            gpu.poison(dx);
            gpu.products().linearBackwardInput(dx, dy, weight, WriteMode.OVERWRITE);
            bounds.check(gpu.download(dx), dtype, m, n, dys::at, weights::at, (row, column) -> 0);
            Matrix former = gpu.fill(dx, 4);
            gpu.products().linearBackwardInput(dx, dy, weight, WriteMode.ADD);
            bounds.check(gpu.download(dx), dtype, m, n, dys::at, weights::at, former::at);

            Tensor dWeight = gpu.tensor(DType.F32, 2 * shift, n, k);
            former = gpu.fill(dWeight, 5);
            gpu.products().linearBackwardWeight(dWeight, dy, x);
            bounds.check(gpu.download(dWeight), DType.F32, n, m, (row, column) -> dys.at(column, row), xs::at,
                former::at);
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void gradientsOfBothParametersAreThoseOfDoublePrecision(DType dtype, SinglePrecision single, int m, int n, int k,
        int shift) {
        try (GemmFixture gpu = new GemmFixture(single)) {
            Tensor x = gpu.tensor(dtype, shift, m, k);
            Tensor dy = gpu.tensor(dtype, shift, m, n);
            Tensor dWeight = gpu.tensor(DType.F32, 2 * shift, n, k);
            Tensor dBias = gpu.tensor(DType.F32, 4, n);
            Matrix xs = gpu.fill(x, 1);
            Matrix dys = gpu.fill(dy, 2);
            Bounds bounds = new Bounds(dtype, single);
            for (int seed = 3; seed < 5; seed++) { // a plan serves any gradient
                Matrix weights = gpu.fill(dWeight, seed);
                Matrix biases = gpu.fill(dBias, seed + 2);
                gpu.products().linearBackwardParameters(dWeight, dBias, dy, x);
                bounds.check(gpu.download(dWeight), DType.F32, n, m, (row, column) -> dys.at(column, row), xs::at,
                    weights::at);
                bounds.check(gpu.download(dBias), DType.F32, 1, m, (row, column) -> 1, dys::at, biases::at);
            }
        }
    }

    @ParameterizedTest
    @MethodSource("cases")
    void aBiasFollowsTheProduct(DType dtype, SinglePrecision single, int m, int n, int k, int shift) {
        try (GemmFixture gpu = new GemmFixture(single)) {
            Tensor x = gpu.tensor(dtype, 0, m, k);
            Tensor weight = gpu.tensor(dtype, shift, n, k);
            Matrix xs = gpu.fill(x, 1);
            Matrix weights = gpu.fill(weight, 2);
            Bounds bounds = new Bounds(dtype, single);
            for (DType result : List.of(dtype, DType.F32)) {
                Tensor y = gpu.tensor(result, shift, m, n);
                Tensor bias = gpu.tensor(result, 0, n);
                gpu.poison(y);
                gpu.products().linear(y, x, weight, Epilogue.NONE);
                bounds.check(gpu.download(y), result, m, k, xs::at, (row, column) -> weights.at(column, row),
                    (row, column) -> 0);
                for (int seed = 3; seed < 5; seed++) { // a plan serves any bias
                    Matrix biases = gpu.fill(bias, seed);
                    gpu.poison(y);
                    gpu.products().linear(y, x, weight, new Epilogue.Bias(bias));
                    bounds.check(gpu.download(y), result, m, k, xs::at, (row, column) -> weights.at(column, row),
                        (row, column) -> biases.at(0, column));
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"F32", "F16", "BF16"})
    void biasAndGeluFollowTheProduct(DType dtype) {
        int m = 19;
        int n = 40;
        int k = 24;
        try (GemmFixture gpu = new GemmFixture(SinglePrecision.FULL)) {
            Tensor x = gpu.tensor(dtype, 0, m, k);
            Tensor weight = gpu.tensor(dtype, 0, n, k);
            Tensor bias = gpu.tensor(dtype, 0, n);
            Tensor preActivation = gpu.tensor(dtype, 0, m, n);
            Tensor y = gpu.tensor(dtype, 0, m, n);
            Matrix xs = gpu.fill(x, 1);
            Matrix weights = gpu.fill(weight, 2);
            Matrix biases = gpu.fill(bias, 3);
            gpu.poison(preActivation);
            gpu.poison(y);
            gpu.products().linear(y, x, weight, new Epilogue.BiasGelu(bias, preActivation));
            Matrix sums = gpu.download(preActivation);
            new Bounds(dtype, SinglePrecision.FULL).check(sums, dtype, m, k, xs::at,
                (row, column) -> weights.at(column, row), (row, column) -> biases.at(0, column));
            Matrix activated = gpu.download(y);
            for (int i = 0; i < activated.values().length; i++) {
                double expected = gelu(sums.values()[i]);
                assertEquals(expected, activated.values()[i], Bounds.rounding(dtype) * Math.abs(expected) + 1e-6);
            }
        }
    }

    /** x/2 (1 + erf(x / sqrt 2)), the integral of the normal density by Simpson's rule. */
    private static double gelu(double x) {
        int pieces = 2000;
        double sum = 0;
        for (int i = 0; i <= pieces; i++) {
            double t = x * i / pieces;
            sum += (i == 0 || i == pieces ? 1 : i % 2 == 0 ? 2 : 4) * Math.exp(-t * t / 2);
        }
        return x * (0.5 + sum * x / pieces / 3 / Math.sqrt(2 * Math.PI));
    }

    @Test
    void aBiasIsAligned() {
        try (GemmFixture gpu = new GemmFixture(SinglePrecision.TF32)) {
            Tensor x = gpu.tensor(DType.BF16, 0, 24, 16);
            Tensor weight = gpu.tensor(DType.BF16, 0, 8, 16);
            Tensor y = gpu.tensor(DType.BF16, 0, 24, 8);
            Epilogue.Bias shifted = new Epilogue.Bias(gpu.tensor(DType.BF16, 8, 8));
            assertThrows(IllegalArgumentException.class, () -> gpu.products().linear(y, x, weight, shifted));
        }
    }

    @Test
    void aProductIsPlannedOnce() {
        try (GemmFixture gpu = new GemmFixture(SinglePrecision.TF32)) {
            Tensor x = gpu.tensor(DType.BF16, 0, 24, 16);
            Tensor weight = gpu.tensor(DType.BF16, 0, 8, 16);
            Tensor bias = gpu.tensor(DType.BF16, 0, 8);
            Tensor y = gpu.tensor(DType.BF16, 0, 24, 8);
            List.of(x, weight, bias).forEach(tensor -> gpu.fill(tensor, 1));
            long[] natives = new long[3];
            for (int i = 0; i < natives.length; i++) {
                gpu.products().linear(y, x, weight, Epilogue.NONE);
                gpu.products().linear(y, x, weight, new Epilogue.Bias(bias));
                gpu.products().linearBackwardInput(x, y, weight, WriteMode.ADD);
                natives[i] = Pointer.totalCount();
            }
            assertEquals(3, gpu.products().plans());
            assertEquals(natives[0], natives[1]);
            assertEquals(natives[0], natives[2]);
            gpu.products().linear(y.slice(1, 22), x.slice(1, 22), weight, Epilogue.NONE); // other rows, other alignment
            assertEquals(4, gpu.products().plans());
        }
    }

    @Test
    void theSameProductHasTheSameBits() {
        try (GemmFixture gpu = new GemmFixture(SinglePrecision.TF32)) {
            Tensor dy = gpu.tensor(DType.BF16, 0, 3000, 40);
            Tensor x = gpu.tensor(DType.BF16, 0, 3000, 24);
            Tensor dWeight = gpu.tensor(DType.F32, 0, 40, 24);
            gpu.fill(dy, 1);
            gpu.fill(x, 2);
            gpu.fill(dWeight, 3);
            gpu.products().linearBackwardWeight(dWeight, dy, x);
            double[] first = gpu.download(dWeight).values();
            gpu.fill(dWeight, 3);
            gpu.products().linearBackwardWeight(dWeight, dy, x);
            assertArrayEquals(first, gpu.download(dWeight).values());
        }
    }

    @Test
    void doublePrecisionIsRefused() {
        try (GemmFixture gpu = new GemmFixture(SinglePrecision.FULL)) {
            Tensor square = gpu.tensor(DType.F64, 0, 2, 2);
            assertThrows(IllegalArgumentException.class,
                () -> gpu.products().linear(square, square, square, Epilogue.NONE));
        }
    }

    @Test
    void aProductThatCuBlasLtDoesNotHaveIsNamed() {
        try (GemmFixture gpu = new GemmFixture(SinglePrecision.FULL)) {
            Tensor x = gpu.tensor(DType.F32, 0, 3, 4);
            Tensor weight = gpu.tensor(DType.F32, 0, 5, 4);
            Tensor y = gpu.tensor(DType.F16, 0, 3, 5);
            CudaException none = assertThrows(CudaException.class,
                () -> gpu.products().linear(y, x, weight, Epilogue.NONE));
            assertTrue(none.getMessage().startsWith("cuBLASLt has no algorithm for product FORWARD of 5 x 4 by 4 x 3, "
                + "F32 to F16, PLAIN, OVERWRITE, addresses aligned to "), none.getMessage());
            assertEquals(0, gpu.products().plans());
        }
    }

    /**
     * How far a product may be off: a sum of k products by k roundings of its absolute terms in single precision, its
     * terms by what their operands lose, the result by one rounding. Where something is added to it, the product may be
     * rounded before, see {@link org.isobar.device.Device#roundsBeforeAdding}.
     */
    private record Bounds(double operand) {
        Bounds(DType dtype, SinglePrecision single) {
            this(dtype == DType.F32 && single == SinglePrecision.TF32 ? 0x1p-11 : 0);
        }

        /** Greatest relative error of a number of this type, rounded to nearest; bfloat16 has 8 bits. */
        static double rounding(DType dtype) {
            return dtype == DType.F32 ? 0x1p-24 : dtype == DType.F16 ? 0x1p-11 : 0x1p-8;
        }

        /** {@code c = a b + former}, sums over k terms. */
        void check(Matrix c, DType dtype, int rows, int k, Element a, Element b, Element former) {
            int columns = c.columns();
            assertEquals(rows * columns, c.values().length);
            for (int row = 0; row < rows; row++) {
                for (int column = 0; column < columns; column++) {
                    double product = 0;
                    double terms = 0;
                    for (int i = 0; i < k; i++) {
                        double term = a.at(row, i) * b.at(i, column);
                        product += term;
                        terms += Math.abs(term);
                    }
                    double sum = product + former.at(row, column);
                    double rounded = Math.abs(sum) + (former.at(row, column) == 0 ? 0 : Math.abs(product));
                    double error = Math.abs(c.at(row, column) - sum);
                    double bound = (k + 2) * 0x1p-24 * (terms + Math.abs(former.at(row, column)))
                        + 2.1 * operand * terms + rounding(dtype) * (rounded + terms * 0x1p-10);
                    assertTrue(error <= bound, "row " + row + ", column " + column + ": " + c.at(row, column)
                        + " instead of " + sum + ", bound " + bound);
                }
            }
        }
    }
}
