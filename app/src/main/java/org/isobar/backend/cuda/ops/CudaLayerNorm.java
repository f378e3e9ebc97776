package org.isobar.backend.cuda.ops;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

import org.isobar.backend.cuda.kernels.ElementGrid;
import org.isobar.backend.cuda.kernels.KernelLauncher;
import org.isobar.backend.cuda.kernels.KernelProvider;
import org.isobar.backend.cuda.kernels.KernelVariant;
import org.isobar.backend.cuda.kernels.LoadedKernel;
import org.isobar.backend.cuda.kernels.TypedKernel;
import org.isobar.backend.cuda.ops.CudaColumnSums.Chunks;
import org.isobar.backend.cuda.ops.CudaOptions.Fusion;
import org.isobar.device.Footprint;
import org.isobar.device.ops.BiasedGradient;
import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.NormOps;
import org.isobar.device.ops.RecomputedNorm;
import org.isobar.device.ops.WriteMode;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * Layer normalization, alone or fused with the preceding residual sum or its gradient. With fusion, kernels are
 * compiled for the width at hand and keep rows in registers. This requires aligned rows of whole packs that are not too
 * wide. All other cases use kernels for any width.
 */
final class CudaLayerNorm implements NormOps {
    private static final String FILE = "layer_norm.cu";
    private static final int WARPS = 4;
    private static final int THREADS = 32 * WARPS;
    private static final int COLUMN_THREADS = 256;
    private static final int PACK = 4;
    /** Wider rows would not fit into a lane's registers in backward. */
    private static final long WIDEST = 1024;
    /** Norm widths of the presets, which are compiled ahead of time; other widths may occur. */
    private static final int[] COMMON_WIDTHS = {48, 192, 384, 1024};
    private static final long ROWS_OF_BLOCK = 16;
    private static final long MOST_BLOCKS = 512;

    private final OpResources context;
    private final CudaColumnSums columnSums;
    private final CudaResidual residual;
    private final AnyWidth anyWidth;
    private final Map<Long, OneWidth> widths = new HashMap<>();

    CudaLayerNorm(OpResources context, CudaColumnSums columnSums, CudaResidual residual) {
        this.context = context;
        this.columnSums = columnSums;
        this.residual = residual;
        anyWidth = new AnyWidth(context.kernels());
    }

    /** Kernels that take the width as an argument. */
    private static final class AnyWidth {
        final TypedKernel forward;
        final TypedKernel recompute;
        final TypedKernel backwardInput;
        final TypedKernel backwardInputAdding;
        final TypedKernel backwardWeights;

        AnyWidth(KernelProvider kernels) {
            forward = new TypedKernel(kernels, FILE, "layer_norm");
            recompute = new TypedKernel(kernels, FILE, "layer_norm_recompute");
            backwardInput = new TypedKernel(kernels, FILE, "layer_norm_backward_input");
            backwardInputAdding = new TypedKernel(kernels, FILE, "layer_norm_backward_input", "ADD");
            backwardWeights = new TypedKernel(kernels, FILE, "layer_norm_backward_weights");
        }
    }

    /** Kernels compiled for one width. */
    private static final class OneWidth {
        final TypedKernel forward;
        final TypedKernel recompute;
        final TypedKernel residual;
        final TypedKernel backward;
        final TypedKernel backwardAdding;
        final TypedKernel residualBackward;

        OneWidth(KernelProvider kernels, long width) {
            String define = "WIDTH=" + width;
            forward = new TypedKernel(kernels, FILE, "layer_norm", define);
            recompute = new TypedKernel(kernels, FILE, "layer_norm_recompute", define);
            residual = new TypedKernel(kernels, FILE, "residual_layer_norm", define);
            backward = new TypedKernel(kernels, FILE, "layer_norm_backward", define);
            backwardAdding = new TypedKernel(kernels, FILE, "layer_norm_backward", define, "ADD");
            residualBackward = new TypedKernel(kernels, FILE, "residual_layer_norm_backward", define, "ADD");
        }
    }

    static List<KernelVariant> variants() {
        List<KernelVariant> variants = new ArrayList<>();
        for (String function : List.of("layer_norm", "layer_norm_recompute", "layer_norm_backward_input",
            "layer_norm_backward_weights")) {
            variants.addAll(TypedKernel.variants(FILE, function));
        }
        variants.addAll(TypedKernel.variants(FILE, "layer_norm_backward_input", "ADD"));
        for (int width : COMMON_WIDTHS) {
            String define = "WIDTH=" + width;
            for (String function : List.of("layer_norm", "layer_norm_recompute", "residual_layer_norm",
                "layer_norm_backward")) {
                variants.addAll(TypedKernel.variants(FILE, function, define));
            }
            variants.addAll(TypedKernel.variants(FILE, "layer_norm_backward", define, "ADD"));
            variants.addAll(TypedKernel.variants(FILE, "residual_layer_norm_backward", define, "ADD"));
        }
        return variants;
    }

    static long workspaceBytes(Footprint footprint) {
        return MOST_BLOCKS * 3 * footprint.widestRow() * Float.BYTES;
    }

    /** Describes which kernels run for rows of those widths, one line per width. */
    List<String> description(Collection<Long> rowWidths) {
        return rowWidths.stream().sorted().map(width -> "norms of " + width + " channels: " + (compiledForWidth(width)
            ? "with the residual in one kernel, all gradients in one, compiled for that width"
            : "residual, norm, gradients of input and of weights in a kernel each, for any width")).toList();
    }

    @Override
    public void layerNorm(Tensor y, Tensor mean, Tensor invStd, Tensor x, Tensor gamma, Tensor beta, double epsilon) {
        long width = gamma.elements();
        TypedKernel kernel = compiledForWidth(width, y, x, gamma, beta) ? oneWidth(width).forward : anyWidth.forward;
        context.launcher().call(kernel.of(y.dtype())).tensor(y).tensor(mean).tensor(invStd).tensor(x).tensor(gamma)
            .tensor(beta).int64(mean.elements()).int32(width).float32(epsilon)
            .launch(Math.ceilDiv(mean.elements(), WARPS), THREADS);
    }

    @Override
    public void layerNormRecompute(Tensor y, Tensor x, Tensor mean, Tensor invStd, Tensor gamma, Tensor beta) {
        long width = gamma.elements();
        TypedKernel kernel = compiledForWidth(width, y, x, gamma, beta) ? oneWidth(width).recompute
            : anyWidth.recompute;
        context.launcher().call(kernel.of(y.dtype())).tensor(y).tensor(x).tensor(mean).tensor(invStd).tensor(gamma)
            .tensor(beta).int64(mean.elements()).int32(width)
            .launch(Math.ceilDiv(mean.elements(), WARPS), THREADS);
    }

    /** Runs one fused kernel where possible, else {@code residual} and {@link #layerNorm}. */
    @Override
    public void residualLayerNorm(Tensor y, Tensor z, Tensor mean, Tensor invStd, Tensor x, Tensor branch,
        Dropout dropPath,
        Tensor gamma, Tensor beta, double epsilon) {
        long width = gamma.elements();
        if (!compiledForWidth(width, y, z, x, branch, gamma, beta)) {
            residual.residual(z, x, branch, dropPath);
            layerNorm(y, mean, invStd, z, gamma, beta, epsilon);
            return;
        }
        long tokens = mean.elements() / x.shape().extent(0);
        KernelLauncher launcher = context.launcher().call(oneWidth(width).residual.of(y.dtype())).tensor(y).tensor(z)
            .tensor(mean).tensor(invStd).tensor(x).tensor(branch).tensor(gamma).tensor(beta).int64(mean.elements())
            .float32(epsilon).int64(tokens);
        MaskIndex.ofSamples(dropPath).pass(launcher)
            .launch(Math.ceilDiv(mean.elements(), WARPS), THREADS);
    }

    @Override
    public void layerNormBackward(Tensor dx, Tensor dGamma, Tensor dBeta, Tensor dy, Tensor x, Tensor mean,
        Tensor invStd, Tensor gamma, WriteMode write, Optional<RecomputedNorm> output) {
        if (compiledForWidth(gamma.elements(), dx, dy, x, gamma) && fits(output)) {
            backwardOfWidth(dx, dGamma, dBeta, dy, x, mean, invStd, gamma, write, output);
        } else {
            backward(dx, dGamma, dBeta, dy, x, mean, invStd, gamma, write);
            output.ifPresent(norm -> layerNormRecompute(norm.y(), x, mean, invStd, gamma, norm.beta()));
        }
    }

    private void backwardOfWidth(Tensor dx, Tensor dGamma, Tensor dBeta, Tensor dy, Tensor x, Tensor mean,
        Tensor invStd, Tensor gamma, WriteMode write, Optional<RecomputedNorm> output) {
        long rows = mean.elements();
        long width = gamma.elements();
        OneWidth kernels = oneWidth(width);
        LoadedKernel kernel = (write == WriteMode.ADD ? kernels.backwardAdding : kernels.backward).of(dy.dtype());
        long blocks = blocks(rows);
        long partial = context.workspace().address(blocks * 2 * width * Float.BYTES);
        KernelLauncher launcher = context.launcher().call(kernel).tensor(dx).int64(partial).tensor(dy).tensor(x)
            .tensor(mean).tensor(invStd).tensor(gamma).int64(rows);
        pass(launcher, output).launch(blocks, THREADS);
        columnSums.add(partial, blocks, dGamma, dBeta);
    }

    private static boolean fits(Optional<RecomputedNorm> output) {
        return output.stream().flatMap(norm -> Stream.of(norm.y(), norm.beta())).allMatch(ElementGrid::aligned);
    }

    /** Passes the output that a backward pass recomputes, or null pointers. */
    private static KernelLauncher pass(KernelLauncher launcher, Optional<RecomputedNorm> output) {
        return output.map(norm -> launcher.tensor(norm.y()).tensor(norm.beta()))
            .orElseGet(() -> launcher.int64(0).int64(0));
    }

    /**
     * Runs one fused kernel where possible, else {@link #layerNormBackward}, {@code residualBackward} and
     * {@code biasBackward}.
     */
    @Override
    public void residualLayerNormBackward(Tensor dz, BiasedGradient dBranch, Tensor dGamma, Tensor dBeta, Tensor dy,
        Tensor z, Tensor mean, Tensor invStd, Tensor gamma, Optional<RecomputedNorm> output) {
        long width = gamma.elements();
        if (!compiledForWidth(width, dz, dBranch.gradient(), dy, z, gamma) || !fits(output)) {
            layerNormBackward(dz, dGamma, dBeta, dy, z, mean, invStd, gamma, WriteMode.ADD, output);
            residual.residualBackward(dBranch.gradient(), dz, dBranch.dropPath());
            columnSums.biasBackward(dBranch.dBias(), dBranch.gradient());
            return;
        }
        long rows = mean.elements();
        long blocks = blocks(rows);
        long partial = context.workspace().address(blocks * 3 * width * Float.BYTES);
        KernelLauncher launcher = context.launcher().call(oneWidth(width).residualBackward.of(dy.dtype())).tensor(dz)
            .tensor(dBranch.gradient()).int64(partial).tensor(dy).tensor(z).tensor(mean).tensor(invStd).tensor(gamma)
            .int64(rows);
        pass(launcher, output).int64(rows / z.shape().extent(0));
        MaskIndex.ofSamples(dBranch.dropPath()).pass(launcher).launch(blocks, THREADS);
        columnSums.add(partial, blocks, dGamma, dBeta, dBranch.dBias());
    }

    private static long blocks(long rows) {
        return Math.min(MOST_BLOCKS, Math.ceilDiv(rows, ROWS_OF_BLOCK));
    }

    private void backward(Tensor dx, Tensor dGamma, Tensor dBeta, Tensor dy, Tensor x, Tensor mean, Tensor invStd,
        Tensor gamma, WriteMode write) {
        long rows = mean.elements();
        long width = gamma.elements();
        DType dtype = dy.dtype();
        LoadedKernel input = (write == WriteMode.ADD ? anyWidth.backwardInputAdding : anyWidth.backwardInput).of(dtype);
        context.launcher().call(input).tensor(dx).tensor(dy).tensor(x).tensor(mean).tensor(invStd).tensor(gamma)
            .int64(rows).int32(width).launch(Math.ceilDiv(rows, WARPS), THREADS);
        Chunks chunks = CudaColumnSums.chunks(rows);
        long partial = context.workspace().address(chunks.count() * 2 * width * Float.BYTES);
        context.launcher().call(anyWidth.backwardWeights.of(dtype)).int64(partial).tensor(dy).tensor(x).tensor(mean)
            .tensor(invStd).int64(rows).int32(width).int64(chunks.rows())
            .launch(CudaColumnSums.tiles(width), chunks.count(), 1, COLUMN_THREADS, 0);
        columnSums.add(partial, chunks.count(), dGamma, dBeta);
    }

    private boolean compiledForWidth(long width, Tensor... rows) {
        return context.options().fusion() == Fusion.FUSED && width % PACK == 0 && width <= WIDEST
            && Arrays.stream(rows).allMatch(ElementGrid::aligned);
    }

    private OneWidth oneWidth(long width) {
        return widths.computeIfAbsent(width, w -> new OneWidth(context.kernels(), w));
    }
}
