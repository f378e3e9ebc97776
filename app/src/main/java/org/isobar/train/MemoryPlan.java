package org.isobar.train;

import java.util.Map;

import org.isobar.backend.dryrun.DryRunCommunicator;
import org.isobar.backend.dryrun.DryRunDevice;
import org.isobar.device.Arena;
import org.isobar.device.Footprint;
import org.isobar.device.Span;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGrid;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.isobar.vit.VitConfig;

/**
 * What one training step needs, found by running it on a device that does no mathematics: exact, since it is the very
 * code that trains.
 *
 * @param stateBytes   parameters and their copy in half precision, gradients, optimizer moments, predictions
 * @param keptBytes    activations kept from forward to backward
 * @param scratchBytes temporaries
 * @param savedBytes   host memory for the copy that this rank writes its share of a checkpoint from
 * @param footprint    what the operations are given
 * @param stepFlops    floating-point operations of a step
 */
public record MemoryPlan(long stateBytes, long keptBytes, long scratchBytes, long savedBytes, Footprint footprint,
    double stepFlops) {
    private static final long UNBOUNDED = Long.MAX_VALUE / 4;

    /** Bytes of all three arenas. */
    public long bytes() {
        return stateBytes + keptBytes + scratchBytes;
    }

    /** The plan of a training step of {@code batch} samples in single precision on a rank that is alone. */
    public static MemoryPlan of(VitConfig config, int batch) {
        return of(config, batch, DType.F32);
    }

    /** The plan of a training step with products in {@code compute} on a rank that is alone. */
    public static MemoryPlan of(VitConfig config, int batch, DType compute) {
        return of(config, batch, compute, ProcessGrid.of(ProcessGrid.DEFAULT_ORDER, Map.of()), 0);
    }

    /** The plan of a training step in single precision on one rank of a grid. */
    public static MemoryPlan of(VitConfig config, int batch, ProcessGrid grid, int rank) {
        return of(config, batch, DType.F32, grid, rank);
    }

    /** The plan of a training step of {@code batch} local samples, products in {@code compute}, on a rank of a grid. */
    public static MemoryPlan of(VitConfig config, int batch, DType compute, ProcessGrid grid, int rank) {
        try (DryRunDevice device = new DryRunDevice();
            Arena state = device.arena("state", UNBOUNDED);
            Arena kept = device.arena("activations", UNBOUNDED);
            Arena scratch = device.arena("scratch", UNBOUNDED);
            Arena images = device.arena("images", UNBOUNDED);
            Communicators communicators = new Communicators(grid, rank, device.ops()::copy, DryRunCommunicator::new)) {
            Replica replica = new Replica(device, config, batch, new Replica.Memory(state, kept, scratch),
                communicators, Replica.Options.of(compute, GradientSync.Options.DEFAULT));
            Tensor input = images.allocate(DType.F32, batch, config.inChannels(), config.height(), config.width());
            Tensor target = images.allocate(DType.F32, batch, config.outChannels(), config.height(), config.width());
            replica.trainStep(input, target, new Replica.StepContext(0, 0, Span.whole(batch), 0));
            double flops = device.flops();
            replica.evaluate(input, target);
            long saved = replica.state().share(grid, rank).stream().mapToLong(slice -> slice.here().bytes()).sum();
            return new MemoryPlan(state.highWatermark(), kept.highWatermark(), scratch.highWatermark(), saved,
                device.footprint(), flops);
        }
    }
}
