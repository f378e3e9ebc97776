package org.isobar.train;

import java.util.Locale;
import java.util.Map;

import org.isobar.backend.dryrun.DryRunCommunicator;
import org.isobar.backend.dryrun.DryRunDevice;
import org.isobar.device.Arena;
import org.isobar.device.Footprint;
import org.isobar.device.OutOfDeviceMemoryException;
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
 * @param stateBytes   parameters, gradients, optimizer moments, predictions
 * @param keptBytes    activations kept from forward to backward
 * @param scratchBytes temporaries
 * @param footprint    what the operations are given
 * @param stepFlops    floating-point operations of a step
 */
public record MemoryPlan(long stateBytes, long keptBytes, long scratchBytes, Footprint footprint, double stepFlops) {
    private static final long UNBOUNDED = Long.MAX_VALUE / 4;
    private static final long PROGRAM_BYTES = 128L << 20; // its heap and code grow by half of that after the check

    /** Bytes of all three arenas. */
    public long bytes() {
        return stateBytes + keptBytes + scratchBytes;
    }

    /**
     * Checks that {@code available} bytes can hold the plan, {@code batchBytes} of input, and what the program takes
     * besides as it runs.
     *
     * @throws OutOfDeviceMemoryException if they cannot
     */
    public void check(long batchBytes, long available) {
        long needed = bytes() + batchBytes + PROGRAM_BYTES;
        if (needed > available) {
            throw new OutOfDeviceMemoryException(String.format(Locale.ROOT, "this run needs %.2f GB of memory (%.2f "
                + "parameters and optimizer, %.2f activations, %.2f temporaries, %.2f batches, %.2f the program) and "
                + "%.2f GB are free; lower the batch size (--local_batch_size), embed_dim or depth, or raise "
                + "patch_size", gigabytes(needed), gigabytes(stateBytes), gigabytes(keptBytes),
                gigabytes(scratchBytes), gigabytes(batchBytes), gigabytes(PROGRAM_BYTES), gigabytes(available)));
        }
    }

    private static double gigabytes(long bytes) {
        return bytes / 0x1p30;
    }

    /** The plan of a training step of {@code batch} samples on a rank that is alone. */
    public static MemoryPlan of(VitConfig config, int batch) {
        return of(config, batch, ProcessGrid.of(ProcessGrid.DEFAULT_ORDER, Map.of()), 0);
    }

    /** The plan of a training step of {@code batch} local samples on one rank of a grid. */
    public static MemoryPlan of(VitConfig config, int batch, ProcessGrid grid, int rank) {
        try (DryRunDevice device = new DryRunDevice();
            Arena state = device.arena("state", UNBOUNDED);
            Arena kept = device.arena("activations", UNBOUNDED);
            Arena scratch = device.arena("scratch", UNBOUNDED);
            Arena images = device.arena("images", UNBOUNDED);
            Communicators communicators = new Communicators(grid, rank, device.ops()::copy, DryRunCommunicator::new)) {
            Replica replica = new Replica(device, config, batch, new Replica.Memory(state, kept, scratch),
                communicators, GradientSync.Options.DEFAULT);
            Tensor input = images.allocate(DType.F32, batch, config.inChannels(), config.height(), config.width());
            Tensor target = images.allocate(DType.F32, batch, config.outChannels(), config.height(), config.width());
            replica.trainStep(input, target, new Replica.StepContext(0, 0, Span.whole(batch), 0));
            double flops = device.flops();
            replica.evaluate(input, target);
            return new MemoryPlan(state.highWatermark(), kept.highWatermark(), scratch.highWatermark(),
                device.footprint(), flops);
        }
    }
}
