package org.isobar.train.diagnosis;

import java.util.HashSet;
import java.util.Map;
import java.util.Set;

import org.isobar.backend.dryrun.DryRunCommunicator;
import org.isobar.backend.dryrun.DryRunDevice;
import org.isobar.device.DeviceArena;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGrid;
import org.isobar.model.ModelSpec;
import org.isobar.nn.Pass;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.isobar.train.step.GradientSync;
import org.isobar.train.step.Replica;
import org.isobar.train.step.StepMemory;
import org.isobar.train.step.StepOptions;

/** Finds the layers whose outputs are fp16 with {@code --amp_mode fp16}, by the forward pass of a dry run. */
final class HalfPrecisionOutputs {
    private static final long UNBOUNDED = Long.MAX_VALUE / 4;

    private HalfPrecisionOutputs() { }

    /** Names of these layers in PyTorch's module tree: all except those that write the residual stream or the image. */
    static Set<String> layers(ModelSpec config) {
        Set<String> layers = new HashSet<>();
        ProcessGrid alone = ProcessGrid.of(ProcessGrid.DEFAULT_ORDER, Map.of());
        try (DryRunDevice device = new DryRunDevice();
            DeviceArena state = device.arena("state", UNBOUNDED);
            DeviceArena kept = device.arena("activations", UNBOUNDED);
            DeviceArena scratch = device.arena("scratch", UNBOUNDED);
            DeviceArena images = device.arena("images", UNBOUNDED);
            Communicators communicators =
                new Communicators(alone, 0, device.ops().memory()::copy, DryRunCommunicator::new)) {
            Replica replica = new Replica(device, config, 1, new StepMemory(state, kept, scratch), communicators,
                StepOptions.of(DType.F16, GradientSync.Options.DEFAULT));
            Tensor input = images.allocate(DType.F32, config.input(1).extents());
            replica.model().forward(input, new Pass.None(), (modules, y) -> {
                if (y.dtype() == DType.F16) {
                    layers.addAll(modules);
                }
            });
        }
        return layers;
    }
}
