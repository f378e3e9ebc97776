package org.isobar.optim;

import org.isobar.device.ops.LossScaling;
import org.isobar.device.ops.StepControl;
import org.isobar.device.ops.TensorOps;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Reduction;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * Dynamic loss scaling (Micikevicius et al., 2018) with the semantics of PyTorch's {@code GradScaler}. Backward starts
 * from the loss times a scale, so that small gradients do not underflow in F16. The gradients are divided by the scale
 * in F32 before the update. If a gradient has overflowed, the step is skipped and the scale is halved. After a number
 * of consecutive good steps the scale is doubled.
 *
 * <p>The scale and the decision stay in device memory ({@link StepControl}), so the host never waits for them.
 *
 * @param start the scale of the first step
 * @param moves how the scale changes
 */
public record GradScaler(double start, LossScaling moves) {
    /** No loss scaling: gradients are not checked. */
    public static final GradScaler NONE = new GradScaler(1, LossScaling.NONE);
    /** PyTorch's defaults. */
    public static final GradScaler DYNAMIC = new GradScaler(0x1p16, LossScaling.DYNAMIC);

    /** The scaler for the compute type {@code compute}. Only F16 needs scaling: BF16 has the exponent range of F32. */
    public static GradScaler of(DType compute) {
        return compute == DType.F16 ? DYNAMIC : NONE;
    }

    /** Whether gradients are multiplied by a scale. */
    public boolean isActive() {
        return !equals(NONE);
    }

    /**
     * Divides gradients by the scale and by {@code replicas}, over which they are sums, and sets the overflow flag on
     * all {@code ranks} if a gradient is not finite on any of them, so that all ranks skip the same steps.
     */
    static void unscale(TensorOps ops, Tensor gradients, int replicas, StepControl control, Communicator ranks) {
        ops.updates().unscale(gradients, control.overflow(), control.scale(), replicas);
        ranks.allReduce(control.overflow(), Reduction.MAX).await();
    }
}
