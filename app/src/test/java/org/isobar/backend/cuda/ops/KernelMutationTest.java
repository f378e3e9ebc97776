package org.isobar.backend.cuda.ops;

import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.backend.cuda.kernels.KernelSource;
import org.isobar.backend.cuda.kernels.KernelVariant;
import org.isobar.backend.cuda.ops.CudaOptions.Fusion;
import org.isobar.backend.cuda.ops.MutatedContract.Mutation;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Tests the tests: with one small mistake in a kernel (an index, a bound, a barrier), the contract of its operation
 * must fail, or the simulated machine complain. Each file of kernels has its mistake.
 */
@Tag("simulated")
@Execution(ExecutionMode.CONCURRENT)
class KernelMutationTest {
    @TempDir
    private static Path logs;

    private static List<Mutation> mutations() {
        return Stream.of(ofElements(), ofSums(), ofAttention()).flatMap(List::stream).toList();
    }

    private static List<Mutation> ofElements() {
        return List.of(
            new Mutation("elementwise.cuh", "first + CHUNK < n ? first + CHUNK : n", "first + CHUNK", "cast"),
            new Mutation("fill.cu", "(y + i)", "(y)", "fill"),
            new Mutation("cast.cu", "store(y + i,", "store(y + i + 1,", "cast"),
            new Mutation("gelu.cu", "*= normal(value[j])", "*= normal(value[0])", "linear"),
            new Mutation("gelu.cu", "x < 0 ?", "x <= 1 ?", "linear"),
            new Mutation("gelu.cu", "store(dx + i, gradient)", "store(dx, gradient)", "biasGeluBackward",
                Fusion.SEPARATE),
            new Mutation("residual.cu", "fmaf(factor, term[j], sum[j])", "fmaf(factor, sum[j], term[j])", "residual"),
            new Mutation("philox.cuh", "start + sample * step", "start + sample", "residualBackward"),
            new Mutation("philox.cuh", "shift & 2 ? words[j + 3]", "shift & 2 ? words[j + 2]", "dropout"),
            new Mutation("dropout.cu", "(row - plane * rows) * inner", "row * inner", "dropout"),
            new Mutation("positions.cu", "load(before, d_positions + i)", "load(before, dy + i)",
                "addPositionsBackward"),
            new Mutation("normalize.cu", "std[field % channels]", "std[field / channels]", "normalize"),
            new Mutation("patches.cu", "int x = i / count;", "int x = i % s.columns;", "unpatchify"),
            new Mutation("patches.cu", "tile[c][x] = image[pixel]; });\n        __syncthreads();",
                "tile[c][x] = image[pixel]; });", "patchify"));
    }

    private static List<Mutation> ofSums() {
        return List.of(
            new Mutation("gelu.cu", "i = row * width + column", "i = row * width", "biasGeluBackward", Fusion.FUSED),
            new Mutation("gelu.cu", "partial + blockIdx.y * width", "partial + blockIdx.y", "biasGeluBackward",
                Fusion.FUSED),
            new Mutation("bias.cu", "blockIdx.y * width", "blockIdx.y", "biasBackward"),
            new Mutation("columns.cuh", "if (left + at < width)", "if (left + at <= width)", "biasBackward"),
            new Mutation("partial_sums.cu", "    __syncthreads();\n", "", "biasBackward"),
            new Mutation("layer_norm.cu", "squares = fmaf(value[j] - mean, value[j] - mean",
                "squares = fmaf(value[j], value[j] - mean", "layerNorm"),
            new Mutation("layer_norm.cu", "g - means.g", "g", "layerNormBackward"),
            new Mutation("layer_norm.cu", "    __syncthreads();\n    for (int i = threadIdx.x; i < WIDTH",
                "    for (int i = threadIdx.x; i < WIDTH", "layerNormBackward", Fusion.FUSED),
            new Mutation("layer_norm.cu", "__fmul_rn(sum[j], factor)", "__fmul_rn(sum[0], factor)",
                "residualLayerNormBackward", Fusion.FUSED),
            new Mutation("layer_norm.cu", "d_bias[k][j] += gradient[j]", "d_bias[k][j] += sum[j]",
                "residualLayerNormBackward", Fusion.FUSED),
            new Mutation("rows.cuh", "if (i < WIDTH)", "if (i <= WIDTH)", "layerNorm", Fusion.FUSED),
            new Mutation("relative_l2_loss.cu", "gridDim.x + blockIdx.x", "gridDim.x",
                "relativeL2Loss"),
            new Mutation("common.cuh", "    __syncthreads(); // what an earlier call left has been read\n", "",
                "relativeL2Loss"),
            new Mutation("weighted_rmse.cu", "if (row < height)", "if (row <= height)", "weightedRmse"),
            new Mutation("scaling.cu", "store(gradient + i, value)", "store(gradient, value)", "unscale"),
            new Mutation("scaling.cu", "next.good_steps >= interval", "next.good_steps > interval", "advance"),
            new Mutation("adam.cu", "chunk += gridDim.x", "chunk += 2 * gridDim.x", "adam"));
    }

    private static List<Mutation> ofAttention() {
        return List.of(
            new Mutation("attention_forward.cu", "* LN2 + logf(sum)", "+ logf(sum)", "attention"),
            new Mutation("attention_forward.cu", "!__syncthreads_or(overflows(softmax))", "true", "attention"),
            new Mutation("attention_plain.cu", "sample * keys * 2 * heads", "sample * keys * heads", "attention"),
            new Mutation("attention_backward_queries.cu",
                "        __syncthreads();  // this tile is complete, and no thread reads the last one any more\n", "",
                "attentionBackward"),
            new Mutation("attention_backward_keys.cu",
                "        __syncthreads();  // this tile is complete, and no thread reads the last one any more\n", "",
                "attentionBackward"),
            new Mutation("attention_backward_shared.cu",
                "        __syncthreads();  // p and ds of all warps are there\n", "", "attentionBackward"),
            new Mutation("attention_statistics.cu", "row < rows && i < queries", "row < rows", "attentionBackward"));
    }

    @TestFactory
    @Execution(ExecutionMode.SAME_THREAD) // they share a process
    Stream<DynamicTest> oneMistakeInElementsIsFound() throws Exception {
        return areFound("elements", ofElements());
    }

    @TestFactory
    @Execution(ExecutionMode.SAME_THREAD) // they share a process
    Stream<DynamicTest> oneMistakeInSumsIsFound() throws Exception {
        return areFound("sums", ofSums());
    }

    @TestFactory
    @Execution(ExecutionMode.SAME_THREAD) // they share a process
    Stream<DynamicTest> oneMistakeInAttentionIsFound() throws Exception {
        return areFound("attention", ofAttention());
    }

    private Stream<DynamicTest> areFound(String name, List<Mutation> mutations) throws Exception {
        List<String> findings = MutatedContract.findings(mutations, logs.resolve(name + ".log"));
        return IntStream.range(0, mutations.size()).mapToObj(i -> DynamicTest.dynamicTest(mutations.get(i).toString(),
            () -> assertNotEquals(MutatedContract.NOT_FOUND, findings.get(i))));
    }

    @Test
    void everyMistakeChangesItsFile() {
        for (Mutation mutation : mutations()) {
            KernelSource source = KernelSource.load(mutation.file());
            assertNotEquals(source, mutation.apply(source), mutation::toString);
        }
    }

    @Test
    void everyFileHasItsMistake() {
        Set<String> mutated = mutations().stream().map(Mutation::file).collect(Collectors.toSet());
        List<String> missing = AllKernelVariants.all(90).stream().map(KernelVariant::file).distinct()
            .filter(file -> !mutated.contains(file)).toList();
        assertTrue(missing.isEmpty(), () -> "no mutation of " + missing);
    }
}
