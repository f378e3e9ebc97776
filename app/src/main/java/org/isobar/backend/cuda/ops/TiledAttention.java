package org.isobar.backend.cuda.ops;

import java.util.ArrayList;
import java.util.List;

import org.isobar.backend.cuda.kernels.KernelLauncher;
import org.isobar.backend.cuda.kernels.KernelVariant;
import org.isobar.backend.cuda.kernels.TypedKernel;
import org.isobar.backend.cuda.ops.AttentionKernels.Variant;
import org.isobar.backend.cuda.ops.AttentionTiling.Masking;
import org.isobar.backend.cuda.ops.AttentionTiling.Pass;
import org.isobar.backend.cuda.ops.CudaOptions.SinglePrecision;
import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.Dropout;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * Attention by the tiled kernels. Backward starts by computing two statistics per query: its log-sum-exp in units of
 * log 2, and delta, the dot product of dOut and out. They are padded so that kernels read whole tiles of them.
 */
final class TiledAttention {
    private static final double LOG2_E = 1 / Math.log(2);
    /** The statistics are padded to a multiple of this, which the numbers of queries in all tiles divide. */
    static final long PADDING = 128;
    private static final String STATISTICS_FILE = "attention_statistics.cu";
    private static final int STATISTICS_THREADS = 256;
    /** Lanes per row of {@code attention_statistics}. */
    private static final int STATISTICS_GROUP = 8;
    private static final int STATISTICS_BYTES = 8;
    /** Queries of the smallest tile. */
    private static final int LEAST_COLUMNS = 16;
    private static final long ALIGNMENT = 256;
    /** Elements per thread of {@code attention_query_gradient}. */
    private static final int GRADIENT_CHUNK = 8;

    private final OpResources context;
    private final AttentionKernels kernels;
    private final TypedKernel statistics;
    private final TypedKernel queryGradient;

    TiledAttention(OpResources context) {
        this.context = context;
        kernels = new AttentionKernels(context.kernels());
        statistics = new TypedKernel(context.kernels(), STATISTICS_FILE, "attention_statistics");
        queryGradient = new TypedKernel(context.kernels(), STATISTICS_FILE, "attention_query_gradient");
    }

    /** The kernels with these tiles, and those that run before and after them. */
    static List<KernelVariant> variants(List<Variant> tiled) {
        List<KernelVariant> variants = new ArrayList<>();
        tiled.forEach(variant -> variants.add(variant.kernel()));
        variants.addAll(TypedKernel.variants(STATISTICS_FILE, "attention_statistics"));
        variants.addAll(TypedKernel.variants(STATISTICS_FILE, "attention_query_gradient"));
        return variants;
    }

    /**
     * Bytes of the statistics (B, H, padded, 2), and, if one kernel computes all gradients, of the sums of the queries'
     * gradient (B, H, padded, D) and of the turns of their tiles.
     *
     * @param sums whether there are such sums
     */
    static long workspaceBytes(AttentionShape shape, boolean sums) {
        return statisticsBytes(shape) + (sums ? sumBytes(shape)
            + Math.ceilDiv(turns(shape, LEAST_COLUMNS) * Integer.BYTES, ALIGNMENT) * ALIGNMENT : 0);
    }

    private static long sumBytes(AttentionShape shape) {
        return shape.batch() * shape.heads() * padded(shape) * shape.headDim() * Float.BYTES;
    }

    /** Number of tickets' counter and of the counters of tiles of so many queries. */
    private static long turns(AttentionShape shape, int columns) {
        return 1 + shape.batch() * shape.heads() * padded(shape) / columns;
    }

    private static long statisticsBytes(AttentionShape shape) {
        return shape.batch() * shape.heads() * padded(shape) * STATISTICS_BYTES; // a multiple of 256
    }

    private static long padded(AttentionShape shape) {
        return Math.ceilDiv(shape.queries(), PADDING) * PADDING;
    }

    /** Number of elements of the queries. */
    private static long queries(AttentionShape shape) {
        return shape.batch() * shape.queries() * shape.heads() * shape.headDim();
    }

    void attention(Tensor out, Tensor lse, Tensor q, Tensor kv, AttentionShape shape, Dropout dropout) {
        Variant variant = variant(Pass.FORWARD, q.dtype(), shape, dropout);
        KernelLauncher launcher = context.launcher().call(kernels.of(variant)).tensor(out).tensor(lse).tensor(q)
            .tensor(kv).int32(shape.queries()).int32(shape.keys()).int32(shape.heads()).float32(shape.scale() * LOG2_E);
        launch(AttentionMask.pass(launcher, dropout), variant, shape.queries(), shape);
    }

    void attentionBackward(Tensor dq, Tensor dkv, Tensor dOut, Tensor q, Tensor kv, Tensor out, Tensor lse,
        AttentionShape shape, Dropout dropout) {
        Variant variant = variant(keysPass(q.dtype(), (int) shape.headDim(), Masking.of(dropout)), q.dtype(), shape,
            dropout);
        boolean two = variant.pass() == Pass.BACKWARD_KEYS;
        long workspace = context.workspace().address(workspaceBytes(shape, !two));
        long sums = two ? 0 : workspace + statisticsBytes(shape);
        long turns = two ? 0 : sums + sumBytes(shape);
        long rows = shape.batch() * padded(shape) * shape.heads();
        context.launcher().call(statistics.of(q.dtype())).int64(workspace).int64(sums).int64(turns).tensor(out)
            .tensor(dOut).tensor(lse).int32(shape.queries()).int32(padded(shape)).int32(shape.heads())
            .int32(shape.headDim()).int64(turns(shape, variant.tiling().columns())).int64(rows)
            .launch(Math.ceilDiv(rows * STATISTICS_GROUP, STATISTICS_THREADS), STATISTICS_THREADS);

        KernelLauncher launcher = context.launcher().call(kernels.of(variant)).tensor(dkv).int64(sums).int64(turns);
        launch(operands(launcher, dOut, q, kv, workspace, shape, dropout), variant, shape.keys(), shape);

        if (two) {
            variant = variant(Pass.BACKWARD_QUERIES, q.dtype(), shape, dropout);
            launcher = context.launcher().call(kernels.of(variant)).tensor(dq);
            launch(operands(launcher, dOut, q, kv, workspace, shape, dropout), variant, shape.queries(), shape);
        } else {
            long chunks = queries(shape) / GRADIENT_CHUNK;
            context.launcher().call(queryGradient.of(dq.dtype())).tensor(dq).int64(sums).float32(shape.scale())
                .int32(shape.queries()).int32(padded(shape)).int32(shape.heads()).int32(shape.headDim()).int64(chunks)
                .launch(Math.ceilDiv(chunks, STATISTICS_THREADS), STATISTICS_THREADS);
        }
    }

    /** Passes the arguments of both backward kernels that follow their outputs. */
    private static KernelLauncher operands(KernelLauncher launcher, Tensor dOut, Tensor q, Tensor kv, long statistics,
        AttentionShape shape, Dropout dropout) {
        launcher.tensor(q).tensor(kv).tensor(dOut).int64(statistics).int32(shape.queries()).int32(shape.keys())
            .int32(shape.heads()).int32(padded(shape)).float32(shape.scale()).float32(shape.scale() * LOG2_E);
        return AttentionMask.pass(launcher, dropout);
    }

    /** Describes which kernels run: how they multiply, and their tile sizes, owned tokens by streamed tokens. */
    String description(int headDim, DType compute) {
        CudaOptions options = context.options();
        boolean cores = compute != DType.F32 || options.single() == SinglePrecision.TF32;
        Pass pass = keysPass(compute, headDim, Masking.NONE);
        String keys = tile(pass, compute, headDim);
        String backward = switch (pass) {
            case BACKWARD_KEYS_ATOMIC -> keys + " backward, gradient of queries by atomic additions";
            case BACKWARD_KEYS_ORDERED -> keys + " backward, gradient of queries in the order of tickets";
            default -> keys + " and " + tile(Pass.BACKWARD_QUERIES, compute, headDim)
                + " backward, gradient of queries in fixed order";
        };
        return options.operands(compute) + (cores ? " on tensor cores" : "") + ", tiles of "
            + tile(Pass.FORWARD, compute, headDim) + " forward, " + backward;
    }

    private String tile(Pass pass, DType compute, int headDim) {
        AttentionTiling tiling = variant(pass, compute, headDim, Masking.NONE).tiling();
        return tiling.rows() + " x " + tiling.columns();
    }

    private Pass keysPass(DType dtype, int headDim, Masking masking) {
        CudaOptions options = context.options();
        return AttentionKernels.keysPass(context.kernels().capability(), options.gradient(), dtype, options.single(),
            headDim, masking);
    }

    private Variant variant(Pass pass, DType dtype, AttentionShape shape, Dropout dropout) {
        return variant(pass, dtype, (int) shape.headDim(), Masking.of(dropout));
    }

    private Variant variant(Pass pass, DType dtype, int headDim, Masking masking) {
        return Variant.of(context.kernels().capability(), pass, dtype, context.options().single(), headDim, masking);
    }

    /** Launches, for each head of each sample, enough blocks to own all {@code tokens}. */
    private static void launch(KernelLauncher launcher, Variant variant, long tokens, AttentionShape shape) {
        AttentionTiling tiling = variant.tiling();
        launcher.launch(Math.ceilDiv(tokens, tiling.rows()), shape.heads(), shape.batch(), tiling.threads(),
            variant.sharedBytes());
    }
}
