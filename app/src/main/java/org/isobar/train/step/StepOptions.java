package org.isobar.train.step;

import org.isobar.backend.Backend;
import org.isobar.config.TrainingConfig;
import org.isobar.device.Device;
import org.isobar.optim.Adam;
import org.isobar.optim.GradScaler;
import org.isobar.tensor.DType;

/**
 * Options of a training step.
 *
 * @param compute data type of matrix products, one that the device supports
 * @param adam    options of the optimizer
 * @param sync    how gradients are reduced
 * @param launch  how the operations are issued
 * @param microBatches number of batches whose gradients are summed in a step
 */
public record StepOptions(DType compute, Adam.Options adam, GradientSync.Options sync, StepLaunch launch,
    int microBatches) {
    /** Options of steps of one batch. */
    public StepOptions(DType compute, Adam.Options adam, GradientSync.Options sync, StepLaunch launch) {
        this(compute, adam, sync, launch, 1);
    }

    /** Products in {@code compute}, loss scaling if that type needs it, one optimizer launch, no graphs. */
    public static StepOptions of(DType compute, GradientSync.Options sync) {
        return new StepOptions(compute, new Adam.Options(GradScaler.of(compute), Adam.Launch.ONCE), sync,
            StepLaunch.EAGER);
    }

    /** The configured options. Without support of {@code device}, products are in fp32 and no graphs are captured. */
    public static StepOptions of(TrainingConfig training, Device device, GradientSync.Options sync) {
        DType configured = training.ampMode().compute();
        DType compute = device.supports(configured) ? configured : DType.F32;
        Adam.Launch launch = training.enableFused() || Backend.of(device) == Backend.CPU ? Adam.Launch.ONCE
            : Adam.Launch.PER_TENSOR;
        Adam.NonFinite nonFinite = switch (training.onNan()) {
            case STOP -> Adam.NonFinite.HALTS;
            case SKIP -> Adam.NonFinite.IS_SKIPPED;
        };
        return new StepOptions(compute, new Adam.Options(GradScaler.of(compute), launch, nonFinite), sync,
            training.enableCudaGraphs() && device.canCapture() ? StepLaunch.GRAPH : StepLaunch.EAGER,
            training.microBatches());
    }

    /** A copy of these options for steps of so many micro-batches. */
    public StepOptions with(int batches) {
        return new StepOptions(compute, adam, sync, launch, batches);
    }

    /** A copy of these options with another {@link StepLaunch}. */
    public StepOptions with(StepLaunch other) {
        return new StepOptions(compute, adam, sync, other, microBatches);
    }
}
