package org.isobar.backend.cuda.ops;

import java.util.List;
import java.util.stream.Stream;

import org.isobar.backend.cuda.kernels.KernelLauncher;
import org.isobar.backend.cuda.kernels.KernelVariant;
import org.isobar.backend.cuda.kernels.LoadedKernel;
import org.isobar.backend.cuda.kernels.TypedKernel;
import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.Dropout;
import org.isobar.tensor.Tensor;

/** Attention for heads of any size, by the slow kernels of {@code attention_plain.cu}. */
final class PlainAttention {
    private static final String FILE = "attention_plain.cu";
    private static final int WARPS = 4;
    private static final int THREADS = 32 * WARPS;

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
    private static void launch(KernelLauncher launcher, LoadedKernel kernel, long tokens, AttentionShape shape,
        Dropout dropout) {
        long rows = shape.batch() * shape.heads() * tokens;
        launcher.int64(rows).int32(shape.queries()).int32(shape.keys()).int32(shape.heads()).int32(shape.headDim())
            .float32(shape.scale());
        int sharedBytes = sharedBytes(shape);
        AttentionKernels.grant(kernel, sharedBytes);
        AttentionMask.pass(launcher, dropout).launch(Math.ceilDiv(rows, (long) WARPS), 1, 1, THREADS, sharedBytes);
    }

    /** Shared memory: for every warp two rows of operands, two rows of sums, and a weight and a slope for each lane. */
    private static int sharedBytes(AttentionShape shape) {
        return Math.toIntExact(WARPS * (4 * shape.headDim() + 2 * 32) * Float.BYTES);
    }
}
