package org.isobar.train.step;

import org.isobar.backend.Backend;
import org.isobar.config.TrainingConfig;
import org.isobar.device.Device;
import org.isobar.optim.Adam;
import org.isobar.optim.GradScaler;
import org.isobar.tensor.DType;

/** What a configuration asks of a replica, as far as the device at hand has it. */
public final class ReplicaOptions {
    private ReplicaOptions() { }

    /** The options of a replica on {@code device} whose gradients are reduced as {@code sync} says. */
    public static Replica.Options of(TrainingConfig training, Device device, GradientSync.Options sync) {
        DType wanted = training.ampMode().compute();
        DType compute = device.supports(wanted) ? wanted : DType.F32;
        Adam.Launch launch = training.enableFused() || Backend.of(device) == Backend.CPU ? Adam.Launch.ONCE
            : Adam.Launch.PER_TENSOR;
        Replica.Steps steps = training.enableCudaGraphs() && device.canCapture() ? Replica.Steps.CAPTURED
            : Replica.Steps.ISSUED;
        Adam.NonFinite nonFinite = switch (training.onNan()) {
            case STOP -> Adam.NonFinite.HALTS;
            case SKIP -> Adam.NonFinite.IS_SKIPPED;
        };
        return new Replica.Options(compute, new Adam.Options(GradScaler.of(compute), launch, nonFinite), sync, steps);
    }
}
