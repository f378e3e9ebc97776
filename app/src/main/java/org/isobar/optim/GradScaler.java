package org.isobar.optim;

import org.isobar.device.ops.LossScaling;
import org.isobar.device.ops.StepControl;
import org.isobar.device.ops.TensorOps;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Reduction;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;

/**
 * Loss scaling (Micikevicius et al., 2018) with the semantics of PyTorch's {@code GradScaler}. Backward starts from the
 * loss times a scale, so that small gradients do not vanish in F16; they are divided by it in single precision before
 * the update. If one has overflowed, the step is skipped and the scale halved; after a row of good steps it doubles.
 *
 * <p>The scale and the decision stay in device memory ({@link StepControl}): the host never waits for them.
 *
 * @param start the scale of the first step
 * @param moves how it goes on
 */
public record GradScaler(double start, LossScaling moves) {
    /** Losses as they are: no gradient is looked at. */
    public static final GradScaler NONE = new GradScaler(1, LossScaling.NONE);
    /** PyTorch's defaults. */
    public static final GradScaler DYNAMIC = new GradScaler(0x1p16, LossScaling.DYNAMIC);

    /** What products in {@code compute} need: the range of BF16 is that of F32. */
    public static GradScaler of(DType compute) {
        return compute == DType.F16 ? DYNAMIC : NONE;
    }

    /** Whether gradients come multiplied by a scale. */
    public boolean isActive() {
        return !equals(NONE);
    }

    /**
     * Divides gradients by the scale and notes whether one is not finite on any of {@code ranks}: all of them skip a
     * step, or none.
     */
    static void unscale(TensorOps ops, Tensor gradients, StepControl control, Communicator ranks) {
        ops.updates().unscale(gradients, control.overflow(), control.scale());
        ranks.allReduce(control.overflow(), Reduction.MAX).await();
    }
}
