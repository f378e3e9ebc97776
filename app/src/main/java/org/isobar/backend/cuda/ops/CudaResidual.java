package org.isobar.backend.cuda.ops;

import java.util.List;
import java.util.stream.Stream;

import org.isobar.backend.cuda.kernels.ElementGrid;
import org.isobar.backend.cuda.kernels.KernelLauncher;
import org.isobar.backend.cuda.kernels.KernelVariant;
import org.isobar.backend.cuda.kernels.TypedKernel;
import org.isobar.device.ops.Dropout;
import org.isobar.device.ops.MemoryOps;
import org.isobar.device.ops.ResidualOps;
import org.isobar.tensor.Tensor;

/** Residual sums and random masks: dropout and stochastic depth. */
final class CudaResidual implements ResidualOps {
    private final OpResources context;
    private final MemoryOps memory;
    private final TypedKernel residual;
    private final TypedKernel residualBackward;
    private final TypedKernel dropout;

    CudaResidual(OpResources context, MemoryOps memory) {
        this.context = context;
        this.memory = memory;
        residual = new TypedKernel(context.kernels(), "residual.cu", "residual");
        residualBackward = new TypedKernel(context.kernels(), "residual.cu", "residual_backward");
        dropout = new TypedKernel(context.kernels(), "dropout.cu", "dropout");
    }

    static List<KernelVariant> variants() {
        return Stream.of(TypedKernel.variants("residual.cu", "residual"),
            TypedKernel.variants("residual.cu", "residual_backward"), TypedKernel.variants("dropout.cu", "dropout"))
            .flatMap(List::stream).toList();
    }

    @Override
    public void residual(Tensor y, Tensor x, Tensor branch, Dropout dropPath) {
        long batch = x.shape().extent(0);
        long sample = x.elements() / batch;
        KernelLauncher launcher = context.launcher().call(residual.of(branch.dtype())).tensor(y).tensor(x)
            .tensor(branch).int64(sample);
        MaskIndex.ofSamples(dropPath).pass(launcher)
            .launch(ElementGrid.blocks(sample), batch, 1, ElementGrid.THREADS, 0);
    }

    @Override
    public void residualBackward(Tensor dBranch, Tensor dy, Dropout dropPath) {
        long batch = dy.shape().extent(0);
        long sample = dy.elements() / batch;
        KernelLauncher launcher = context.launcher().call(residualBackward.of(dBranch.dtype())).tensor(dBranch)
            .tensor(dy).int64(sample);
        MaskIndex.ofSamples(dropPath).pass(launcher)
            .launch(ElementGrid.blocks(sample), batch, 1, ElementGrid.THREADS, 0);
    }

    @Override
    public void dropout(Tensor y, Tensor x, Dropout mask) {
        if (mask.isNone()) {
            if (!y.aliases(x)) {
                memory.copy(y, x);
            }
            return;
        }
        KernelLauncher launcher = context.launcher().call(dropout.of(x.dtype())).tensor(y).tensor(x)
            .int64(x.elements());
        MaskIndex.of(mask, x.shape()).passAll(launcher)
            .launch(ElementGrid.blocks(x.elements()), ElementGrid.THREADS);
    }
}
