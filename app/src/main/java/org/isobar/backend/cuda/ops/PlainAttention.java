package org.isobar.backend.cuda.ops;

import java.util.List;
import java.util.stream.Stream;

import org.isobar.backend.cuda.kernels.KernelLauncher;
import org.isobar.backend.cuda.kernels.KernelVariant;
import org.isobar.backend.cuda.kernels.LoadedKernel;
import org.isobar.backend.cuda.kernels.TypedKernel;
import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.Dropout;
import org.isobar.fault.UserException;
import org.isobar.tensor.Tensor;

/** Attention for heads of any size, by the slow kernels of {@code attention_plain.cu}. */
final class PlainAttention {
    private static final String FILE = "attention_plain.cu";
    private static final int WARP = 32;
    private static final int MOST_WARPS = 4;

    private final OpResources context;
    private final TypedKernel forward;
    private final TypedKernel backwardQueries;
    private final TypedKernel backwardKeys;

    PlainAttention(OpResources context) {
        this.context = context;
        forward = new TypedKernel(context.kernels(), FILE, "attention_plain");
        backwardQueries = new TypedKernel(context.kernels(), FILE, "attention_plain_queries");
        backwardKeys = new TypedKernel(context.kernels(), FILE, "attention_plain_keys");
    }

    static List<KernelVariant> variants() {
        return Stream.of("attention_plain", "attention_plain_queries", "attention_plain_keys")
            .flatMap(function -> TypedKernel.variants(FILE, function).stream()).toList();
    }

    /**
     * Checks that a block of one warp fits into the shared memory of the device.
     *
     * @throws UserException if it does not
     */
    void require(long headDim) {
        int sharedBytes = context.kernels().sharedBytes();
        if (warpBytes(headDim) > sharedBytes) {
            long widest = (sharedBytes - warpBytes(0)) / (warpBytes(1) - warpBytes(0));
            throw new UserException("attention heads have " + headDim + " channels (embed_dim / num_heads), and the "
                + "shared memory of this GPU has room for " + widest + ": raise num_heads");
        }
    }

    /** Bytes of delta (B, H, Tq). */
    static long workspaceBytes(AttentionShape shape) {
        return shape.batch() * shape.heads() * shape.queries() * Float.BYTES;
    }

    void attention(Tensor out, Tensor lse, Tensor q, Tensor kv, AttentionShape shape, Dropout dropout) {
        LoadedKernel kernel = forward.of(q.dtype());
        launch(context.launcher().call(kernel).tensor(out).tensor(lse).tensor(q).tensor(kv), kernel, shape.queries(),
            shape, dropout);
    }

    void attentionBackward(Tensor dq, Tensor dkv, Tensor dOut, Tensor q, Tensor kv, Tensor out, Tensor lse,
        AttentionShape shape, Dropout dropout) {
        long delta = context.workspace().address(workspaceBytes(shape));
        LoadedKernel kernel = backwardQueries.of(q.dtype());
        launch(context.launcher().call(kernel).tensor(dq).int64(delta).tensor(dOut).tensor(q).tensor(kv).tensor(out)
            .tensor(lse), kernel, shape.queries(), shape, dropout);
        kernel = backwardKeys.of(q.dtype());
        launch(context.launcher().call(kernel).tensor(dkv).int64(delta).tensor(dOut).tensor(q).tensor(kv).tensor(lse),
            kernel, shape.keys(), shape, dropout);
    }

    /** Passes the last arguments, common to all three kernels, and launches one warp for each of {@code tokens}. */
    private void launch(KernelLauncher launcher, LoadedKernel kernel, long tokens, AttentionShape shape,
        Dropout dropout) {
        long rows = shape.batch() * shape.heads() * tokens;
        launcher.int64(rows).int32(shape.queries()).int32(shape.keys()).int32(shape.heads()).int32(shape.headDim())
            .float32(shape.scale());
        int warps = warps(shape.headDim(), context.kernels().sharedBytes());
        int sharedBytes = Math.toIntExact(warps * warpBytes(shape.headDim()));
        AttentionKernels.grant(kernel, sharedBytes);
        AttentionMask.pass(launcher, dropout)
            .launch(Math.ceilDiv(rows, (long) warps), 1, 1, warps * WARP, sharedBytes);
    }

    /** Warps of a block: four, or for wide heads two or one, if the device has no more shared memory. */
    static int warps(long headDim, int sharedBytes) {
        int warps = MOST_WARPS;
        while (warps > 1 && warps * warpBytes(headDim) > sharedBytes) {
            warps /= 2;
        }
        return warps;
    }

    /** Shared memory of a warp: two rows of operands, two rows of sums, and a weight and a slope for each lane. */
    private static long warpBytes(long headDim) {
        return (4 * headDim + 2 * WARP) * Float.BYTES;
    }
}
