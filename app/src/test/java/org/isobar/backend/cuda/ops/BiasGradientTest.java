package org.isobar.backend.cuda.ops;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.Arrays;
import java.util.concurrent.CompletableFuture;

import org.isobar.backend.cuda.NativeEnvironment;
import org.isobar.backend.cuda.ops.CudaOptions.SinglePrecision;
import org.isobar.backend.cuda.ops.GemmFixture.Matrix;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Which of cuBLASLt and our kernel computes the gradient of a bias, told by the order of its sums. */
@Isolated("Every other run of this process would take its algorithms, too.")
@Tag("simulated")
class BiasGradientTest {
    private static final int M = 3000;
    private static final int N = 40;
    private static final int K = 24;
    private static final String USUAL = "right";
    private static final String WITHOUT_SUMS = "no_sums";

    /** Adds to the gradient of the bias. */
    @FunctionalInterface
    private interface Operation {
        void run(CudaProducts products, Tensor dWeight, Tensor dBias, Tensor dy, Tensor x);
    }

    /** The gradient of the bias after the operation, with a library that has these algorithms. */
    private static double[] gradient(DType dtype, String algorithms, Operation operation) {
        CompletableFuture<double[]> found = new CompletableFuture<>();
        NativeEnvironment.with("ISOBAR_SIM_LT", algorithms, "", () -> {
            try (GemmFixture gpu = new GemmFixture(SinglePrecision.FULL)) {
                Tensor dy = gpu.tensor(dtype, 0, M, N);
                Tensor x = gpu.tensor(dtype, 0, M, K);
                Tensor dWeight = gpu.tensor(DType.F32, 0, N, K);
                Tensor dBias = gpu.tensor(DType.F32, 4, N);
                gpu.fill(dy, 1);
                gpu.fill(x, 2);
                gpu.fill(dWeight, 3);
                gpu.fill(dBias, 4);
                operation.run(gpu.products(), dWeight, dBias, dy, x);
                operation.run(gpu.products(), dWeight, dBias, dy, x); // with the same plan
                found.complete(gpu.download(dBias).values());
            }
        });
        return found.join();
    }

    private static double[] inTheProduct(DType dtype, String algorithms) {
        return gradient(dtype, algorithms, CudaProducts::linearBackwardParameters);
    }

    private static double[] byTheKernel(DType dtype) {
        return gradient(dtype, USUAL, (products, dWeight, dBias, dy, x) -> products.biasBackward(dBias, dy));
    }

    /** The library sums in the order of the rows. */
    private static double[] bySumsInOrder(DType dtype) {
        try (GemmFixture gpu = new GemmFixture(SinglePrecision.FULL)) {
            Matrix dys = gpu.fill(gpu.tensor(dtype, 0, M, N), 1);
            Matrix former = gpu.fill(gpu.tensor(DType.F32, 0, N), 4);
            double[] expected = new double[N];
            for (int column = 0; column < N; column++) {
                float sum = 0;
                for (int row = 0; row < M; row++) {
                    sum += (float) dys.at(row, column);
                }
                expected[column] = (float) former.at(0, column) + sum + sum;
            }
            return expected;
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"F16", "BF16"})
    void theProductSumsInSixteenBits(DType dtype) {
        assertArrayEquals(bySumsInOrder(dtype), inTheProduct(dtype, USUAL));
        assertFalse(Arrays.equals(byTheKernel(dtype), inTheProduct(dtype, USUAL)));
    }

    @ParameterizedTest
    @EnumSource(names = {"F16", "BF16"})
    void theKernelSumsIfTheLibraryCannot(DType dtype) {
        assertArrayEquals(byTheKernel(dtype), inTheProduct(dtype, WITHOUT_SUMS));
    }

    @Test
    void theKernelSumsInSinglePrecision() {
        assertArrayEquals(byTheKernel(DType.F32), inTheProduct(DType.F32, USUAL));
    }

    @Test
    void theLibraryIsAskedOnce() {
        gradient(DType.BF16, WITHOUT_SUMS, (products, dWeight, dBias, dy, x) -> {
            products.linearBackwardParameters(dWeight, dBias, dy, x);
            assertEquals(1, products.plans());
        });
    }
}
