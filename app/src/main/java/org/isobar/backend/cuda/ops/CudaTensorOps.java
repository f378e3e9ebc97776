package org.isobar.backend.cuda.ops;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.LongStream;

import org.isobar.backend.cuda.kernels.KernelVariant;
import org.isobar.device.Footprint;
import org.isobar.device.ProductAlgorithms;
import org.isobar.device.ops.AttentionShape;
import org.isobar.device.ops.TensorOps;
import org.isobar.fault.UserException;
import org.isobar.tensor.DType;

/** The tensor operations of a GPU; each family of operations is a class. */
public final class CudaTensorOps implements AutoCloseable {
    /** Samples are the second or third dimension of grids, which have no more blocks there. */
    private static final int MOST_SAMPLES = 65_535;

    private final CudaProducts products;
    private final CudaLayerNorm norms;
    private final CudaAttention attention;
    private final TensorOps byFamily;

    /** Creates operations that run on the stream of the context's launcher, in the current CUDA context. */
    public CudaTensorOps(OpResources context) {
        this(context, Optional.empty());
    }

    /** Likewise, with a second engine for attention. The caller closes it. */
    public CudaTensorOps(OpResources context, Optional<SecondAttention> second) {
        CudaColumnSums columnSums = new CudaColumnSums(context);
        CudaMemory memory = new CudaMemory(context);
        CudaResidual residuals = new CudaResidual(context, memory);
        products = new CudaProducts(context, columnSums);
        norms = new CudaLayerNorm(context, columnSums, residuals);
        attention = new CudaAttention(context, second);
        byFamily = new TensorOps(memory, products, norms, attention, new CudaImages(context), residuals,
            new CudaLoss(context), new CudaUpdate(context));
    }

    /** Returns the operations. */
    public TensorOps byFamily() {
        return byFamily;
    }

    /** The algorithms of matrix products. */
    public ProductAlgorithms productAlgorithms() {
        return products.algorithms();
    }

    /**
     * Checks that kernels can compute operations of that footprint on this device.
     *
     * @throws UserException if they cannot
     */
    public void require(Footprint footprint) {
        for (AttentionShape shape : footprint.attention()) {
            if (shape.batch() > MOST_SAMPLES) {
                throw new UserException("local_batch_size is " + shape.batch() + ", and a GPU computes at most "
                    + MOST_SAMPLES + " samples at once: lower it");
            }
            attention.require(shape);
        }
    }

    /** Bytes of workspace that operations of that footprint need on devices of this compute capability (90 for 9.0). */
    public static long workspaceBytes(int capability, Footprint footprint, CudaOptions options) {
        return LongStream.of(CudaColumnSums.workspaceBytes(footprint), CudaLayerNorm.workspaceBytes(footprint),
            CudaLoss.workspaceBytes(footprint), CublasLtGemm.workspaceBytes(footprint),
            CudaAttention.workspaceBytes(capability, footprint, options)).max().orElseThrow();
    }

    /**
     * The kernels that operations with these options may use on devices of this compute capability, except those of
     * norms and of attention with dropout.
     */
    public static List<KernelVariant> kernelVariants(int capability, CudaOptions options) {
        return AllKernelVariants.of(capability, options);
    }

    /** Describes which kernels steps of that footprint run, one line per kind of operation that has a choice. */
    public List<String> description(Footprint footprint, DType compute) {
        List<String> lines = new ArrayList<>(products.description(compute));
        lines.addAll(norms.description(footprint.normWidths()));
        lines.addAll(attention.description(footprint.attention(), compute));
        return lines;
    }

    @Override
    public void close() {
        products.close();
    }
}
