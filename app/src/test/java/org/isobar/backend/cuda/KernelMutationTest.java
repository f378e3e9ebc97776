package org.isobar.backend.cuda;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.isobar.backend.cuda.CudaOptions.Fusion;
import org.isobar.backend.cuda.CudaOptions.QueryGradient;
import org.isobar.backend.cuda.CudaOptions.SinglePrecision;
import org.isobar.verify.Case;
import org.isobar.verify.ContractViolation;
import org.isobar.verify.TensorOpsContract;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * Tests the tests: with one small mistake in a kernel (an index, a bound, a barrier), the contract of its operation must
 * fail, or the simulated machine complain. Each file of kernels has its mistake.
 */
@Tag("simulated")
class KernelMutationTest {
    /**
     * A mistake.
     *
     * @param file      of the kernels, or of what they include
     * @param right     what stands there
     * @param wrong     what stands there instead
     * @param operation whose contract must fail
     * @param fusion    with which the kernel runs
     */
    private record Mutation(String file, String right, String wrong, String operation, Fusion fusion) {
        Mutation(String file, String right, String wrong, String operation) {
            this(file, right, wrong, operation, Fusion.SEPARATE);
        }

        KernelSource apply(KernelSource source) {
            Map<String, String> headers = new HashMap<>(source.headers());
            headers.computeIfPresent(file, (name, text) -> text.replace(right, wrong));
            String text = source.file().equals(file) ? source.text().replace(right, wrong) : source.text();
            return new KernelSource(source.file(), text, headers);
        }

        @Override
        public String toString() {
            return file + ": " + wrong.strip() + " for " + right.strip();
        }
    }

    private static List<Mutation> mutations() {
        return List.of(
            new Mutation("elementwise.cuh", "first + CHUNK < n ? first + CHUNK : n", "first + CHUNK", "gelu"),
            new Mutation("fill.cu", "16 / sizeof(Word)", "8 / sizeof(Word)", "fill"),
            new Mutation("cast.cu", "store(y + i,", "store(y + i + 1,", "cast"),
            new Mutation("transpose_outer.cu", "place - column * rows", "place - column * columns", "transposeOuter"),
            new Mutation("gelu.cu", "x < 0 ?", "x <= 1 ?", "gelu"),
            new Mutation("residual.cu", "fmaf(factor, term[j], sum[j])", "fmaf(factor, sum[j], term[j])", "residual"),
            new Mutation("philox.cuh", "start + sample * step", "start + sample", "residualBackward"),
            new Mutation("philox.cuh", "shift & 2 ? words[j + 3]", "shift & 2 ? words[j + 2]", "dropout"),
            new Mutation("dropout.cu", "(row - plane * rows) * inner", "row * inner", "dropout"),
            new Mutation("positions.cu", "load(before, d_positions + i)", "load(before, dy + i)",
                "addPositionsBackward"),
            new Mutation("normalize.cu", "std[blockIdx.y % channels]", "std[blockIdx.y / channels]", "normalize"),
            new Mutation("patches.cu", "int x = i / count;", "int x = i % s.columns;", "unpatchify"),
            new Mutation("patches.cu", "tile[c][x] = image[pixel]; });\n        __syncthreads();",
                "tile[c][x] = image[pixel]; });", "patchify"),
            new Mutation("bias.cu", "blockIdx.y * width", "blockIdx.y", "biasBackward"),
            new Mutation("columns.cuh", "if (left + at < width)", "if (left + at <= width)", "biasBackward"),
            new Mutation("partial_sums.cu", "    __syncthreads();\n", "", "biasBackward"),
            new Mutation("layer_norm.cu", "squares = fmaf(value[j] - mean, value[j] - mean",
                "squares = fmaf(value[j], value[j] - mean", "layerNorm"),
            new Mutation("layer_norm.cu", "g - means.g", "g", "layerNormBackward"),
            new Mutation("layer_norm.cu", "    __syncthreads();\n    for (int i = threadIdx.x; i < WIDTH",
                "    for (int i = threadIdx.x; i < WIDTH", "layerNormBackward", Fusion.FUSED),
            new Mutation("rows.cuh", "if (i < WIDTH)", "if (i <= WIDTH)", "layerNorm", Fusion.FUSED),
            new Mutation("relative_l2_loss.cu", "first + NORM_CHUNK < n ? first + NORM_CHUNK : n", "n",
                "relativeL2Loss"),
            new Mutation("common.cuh", "    __syncthreads(); // what an earlier call left has been read\n", "",
                "relativeL2Loss"),
            new Mutation("weighted_rmse.cu", "if (row < height)", "if (row <= height)", "weightedRmse"),
            new Mutation("scaling.cu", "finite && fabsf(value[j]) <= LARGEST", "fabsf(value[j]) <= LARGEST",
                "unscale"),
            new Mutation("scaling.cu", "next.good_steps >= interval", "next.good_steps > interval", "advance"),
            new Mutation("adam.cu", "chunk += gridDim.x", "chunk += 2 * gridDim.x", "adam"));
    }

    @TestFactory
    Stream<DynamicTest> oneMistakeIsFound() {
        return mutations().stream().map(mutation -> DynamicTest.dynamicTest(mutation.toString(), () ->
            assertTrue(isFound(mutation), "the contract of " + mutation.operation() + " holds in spite of it")));
    }

    /** Whether a case of the operation fails; the machine may have stopped for good then. */
    private static boolean isFound(Mutation mutation) {
        CudaOptions options = new CudaOptions(mutation.fusion(), SinglePrecision.FULL, QueryGradient.DETERMINISTIC);
        try (BareDevice device = new BareDevice(options, mutation::apply)) {
            for (Case one : TensorOpsContract.cases(device)) {
                if (one.operation().equals(mutation.operation()) && fails(one, device)) {
                    return true;
                }
            }
        }
        return false;
    }

    private static boolean fails(Case one, BareDevice device) {
        try {
            one.run(device);
            return false;
        } catch (ContractViolation | CudaException found) {
            return !String.valueOf(found.getMessage()).contains("does not compile");
        }
    }

    @Test
    void everyMistakeChangesItsFile() {
        for (Mutation mutation : mutations()) {
            KernelSource source = KernelSource.load(mutation.file());
            assertTrue(!mutation.apply(source).equals(source), mutation::toString);
        }
    }

    /** Those of attention have their own test. */
    @Test
    void everyFileHasItsMistake() {
        Set<String> mutated = mutations().stream().map(Mutation::file).collect(Collectors.toSet());
        List<String> missing = KernelVariants.all().stream().map(KernelVariant::file).distinct()
            .filter(file -> !file.startsWith("attention") && !mutated.contains(file)).toList();
        assertTrue(missing.isEmpty(), () -> "no mutation of " + Arrays.toString(missing.toArray()));
    }
}
