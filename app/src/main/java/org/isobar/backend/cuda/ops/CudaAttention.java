package org.isobar.backend.cuda.ops;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Optional;

import org.isobar.backend.cuda.cudnn.CudnnAttention;
import org.isobar.backend.cuda.kernels.ElementGrid;
import org.isobar.backend.cuda.kernels.KernelVariant;
import org.isobar.device.Footprint;
import org.isobar.device.ops.AttentionOps;
import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.Dropout;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * Attention: tiled kernels for the head sizes that have them, plain kernels for any other size; and cuDNN for what it
 * can compute, if it is enabled.
 */
final class CudaAttention implements AttentionOps {
    private final TiledAttention tiled;
    private final PlainAttention plain;
    private final Optional<SecondAttention> second;

    CudaAttention(OpResources context, Optional<SecondAttention> second) {
        this.second = second;
        tiled = new TiledAttention(context);
        plain = new PlainAttention(context);
    }

    @Override
    public void attention(Tensor out, Tensor lse, Tensor q, Tensor kv, AttentionShape shape, Dropout dropout) {
        Optional<CudnnAttention> library = second(shape, dropout, out, lse, q, kv);
        if (library.isPresent()) {
            library.get().forward(out, lse, q, kv, shape);
        } else if (hasTiles(shape, out, q, kv)) {
            tiled.attention(out, lse, q, kv, shape, dropout);
        } else {
            plain.attention(out, lse, q, kv, shape, dropout);
        }
    }

    @Override
    public void attentionBackward(Tensor dq, Tensor dkv, Tensor dOut, Tensor q, Tensor kv, Tensor out, Tensor lse,
        AttentionShape shape, Dropout dropout) {
        Optional<CudnnAttention> library = second(shape, dropout, dq, dkv, dOut, q, kv, out, lse)
            .filter(engine -> engine.isPreparedBackward(shape, q.dtype()));
        if (library.isPresent()) {
            library.get().backward(dq, dkv, dOut, q, kv, out, lse, shape);
        } else if (hasTiles(shape, dq, dkv, dOut, q, kv, out)) {
            tiled.attentionBackward(dq, dkv, dOut, q, kv, out, lse, shape, dropout);
        } else {
            plain.attentionBackward(dq, dkv, dOut, q, kv, out, lse, shape, dropout);
        }
    }

    /** The second engine, if it is enabled and can compute this. */
    private Optional<CudnnAttention> second(AttentionShape shape, Dropout dropout, Tensor... tensors) {
        return dropout.isNone() && Arrays.stream(tensors).allMatch(ElementGrid::aligned)
            ? second.flatMap(engine -> engine.enabled(shape, tensors[0].dtype())) : Optional.empty();
    }

    /**
     * Checks that there are kernels for heads of that size on this device.
     *
     * @throws org.isobar.fault.UserException if there are none
     */
    void require(AttentionShape shape) {
        if (!hasTiles(shape.headDim())) {
            plain.require(shape.headDim());
        }
    }

    private static boolean hasTiles(AttentionShape shape, Tensor... tensors) {
        return hasTiles(shape.headDim()) && Arrays.stream(tensors).allMatch(ElementGrid::aligned);
    }

    private static boolean hasTiles(long headDim) {
        return headDim <= Integer.MAX_VALUE && AttentionKernels.HEAD_DIMS.contains((int) headDim);
    }

    /** Describes which kernels run for those extents and that type, one line per head size. */
    List<String> description(Collection<AttentionShape> shapes, DType compute) {
        List<AttentionShape> own = shapes.stream()
            .filter(shape -> second.flatMap(engine -> engine.enabled(shape, compute)).isEmpty()).toList();
        return own.stream().mapToLong(AttentionShape::headDim).sorted().distinct()
            .mapToObj(headDim -> "attention of heads of " + headDim + ": " + (hasTiles(headDim)
                ? tiled.description((int) headDim, compute)
                : "plain kernels in single precision, because no tiled kernel has this size")).toList();
    }

    /** The variants that devices of this compute capability use with these options, without dropout. */
    static List<KernelVariant> variants(int capability, CudaOptions options) {
        return variants(AttentionKernels.variants(capability, options));
    }

    /** Every variant in which devices of this compute capability use the kernels of attention. */
    static List<KernelVariant> variants(int capability) {
        return variants(AttentionKernels.variants(capability));
    }

    private static List<KernelVariant> variants(List<AttentionKernels.Variant> tiled) {
        List<KernelVariant> variants = new ArrayList<>(TiledAttention.variants(tiled));
        variants.addAll(PlainAttention.variants());
        return variants;
    }

    /** Bytes of workspace that attention needs on devices of this compute capability. */
    static long workspaceBytes(int capability, Footprint footprint, CudaOptions options) {
        return footprint.attention().stream().mapToLong(shape -> {
            boolean sums = hasTiles(shape.headDim()) && footprint.differentiated().stream().anyMatch(dtype ->
                AttentionKernels.sumsQueries(capability, options, dtype, (int) shape.headDim()));
            return Math.max(hasTiles(shape.headDim()) ? TiledAttention.workspaceBytes(shape, sums) : 0,
                PlainAttention.workspaceBytes(shape));
        }).max().orElse(0);
    }
}
