package org.isobar.train.step;

import org.isobar.backend.Backend;
import org.isobar.config.TrainingConfig;
import org.isobar.device.Device;
import org.isobar.optim.Adam;
import org.isobar.optim.GradScaler;
import org.isobar.tensor.DType;

/**
 * How a training step is carried out, besides its model and batch.
 *
 * @param compute the type that products are computed in, one that the device supports
 * @param adam    how the weights are updated
 * @param sync    how gradients are reduced
 * @param launch  how the operations are issued
 */
public record StepOptions(DType compute, Adam.Options adam, GradientSync.Options sync, StepLaunch launch) {
    /** Products in {@code compute}, loss scaling as that type needs, one optimizer launch, no graphs. */
    public static StepOptions of(DType compute, GradientSync.Options sync) {
        return new StepOptions(compute, new Adam.Options(GradScaler.of(compute), Adam.Launch.ONCE), sync,
            StepLaunch.EAGER);
    }

    /** What a configuration asks for, as far as {@code device} supports it: else fp32, and no graphs. */
    public static StepOptions of(TrainingConfig training, Device device, GradientSync.Options sync) {
        DType wanted = training.ampMode().compute();
        DType compute = device.supports(wanted) ? wanted : DType.F32;
        Adam.Launch launch = training.enableFused() || Backend.of(device) == Backend.CPU ? Adam.Launch.ONCE
            : Adam.Launch.PER_TENSOR;
        Adam.NonFinite nonFinite = switch (training.onNan()) {
            case STOP -> Adam.NonFinite.HALTS;
            case SKIP -> Adam.NonFinite.IS_SKIPPED;
        };
        return new StepOptions(compute, new Adam.Options(GradScaler.of(compute), launch, nonFinite), sync,
            training.enableCudaGraphs() && device.canCapture() ? StepLaunch.GRAPH : StepLaunch.EAGER);
    }

    /** These options with another way to issue operations. */
    public StepOptions with(StepLaunch other) {
        return new StepOptions(compute, adam, sync, other);
    }
}
