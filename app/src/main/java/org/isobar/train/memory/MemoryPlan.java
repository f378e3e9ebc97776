package org.isobar.train.memory;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import org.isobar.backend.dryrun.DryRunCommunicator;
import org.isobar.backend.dryrun.DryRunDevice;
import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.device.Footprint;
import org.isobar.device.ops.IndexSpan;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGrid;
import org.isobar.model.ModelSpec;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.isobar.train.step.GradientSync;
import org.isobar.train.step.Predictor;
import org.isobar.train.step.Replica;
import org.isobar.train.step.StepMemory;
import org.isobar.train.step.StepOptions;
import org.isobar.train.step.TrainStep;

/**
 * Memory of one training step, found by a dry run on a device that allocates but does not compute. It is exact, because
 * the dry run executes the training code.
 *
 * @param stateBytes   bytes of parameters and their half-precision copies, gradients, optimizer moments, predictions
 * @param keptBytes    bytes of activations kept from the forward to the backward pass
 * @param scratchBytes bytes of temporaries
 * @param savedBytes   bytes of host memory for the copy of this rank's share of a checkpoint
 * @param footprint    largest sizes of the operations' arguments
 * @param stepFlops    floating-point operations of a step
 */
public record MemoryPlan(long stateBytes, long keptBytes, long scratchBytes, long savedBytes, Footprint footprint,
    double stepFlops) {
    private static final long UNBOUNDED = Long.MAX_VALUE / 4;

    /** Is told when a dry run begins and ends its training step; before it creates the model, after it evaluates it. */
    public interface StepObserver {
        /** An observer that does nothing. */
        StepObserver NONE = new StepObserver() { };

        /** The training step begins. */
        default void stepBegins() { }

        /** The training step has ended. */
        default void stepEnds() { }
    }

    /** Bytes of all three arenas. */
    public long bytes() {
        return stateBytes + keptBytes + scratchBytes;
    }

    /**
     * Allocates the arenas of this plan. After a failure, none stays allocated.
     *
     * @throws org.isobar.device.OutOfDeviceMemoryException if the device has less memory free
     */
    public StepMemory allocate(Device device) {
        List<DeviceArena> taken = new ArrayList<>();
        try {
            taken.add(device.arena("state", stateBytes));
            taken.add(device.arena("activations", keptBytes));
            taken.add(device.arena("scratch", scratchBytes));
        } catch (RuntimeException noMemory) {
            taken.forEach(DeviceArena::close);
            throw noMemory;
        }
        return new StepMemory(taken.get(0), taken.get(1), taken.get(2));
    }

    /** The plan of a training step of {@code batch} samples in fp32 on a single process. */
    public static MemoryPlan of(ModelSpec config, int batch) {
        return of(config, batch, DType.F32);
    }

    /** The plan of a training step with matrix products in {@code compute} on a single process. */
    public static MemoryPlan of(ModelSpec config, int batch, DType compute) {
        return of(config, batch, compute, ProcessGrid.of(ProcessGrid.DEFAULT_ORDER, Map.of()), 0);
    }

    /** The plan of a training step in fp32 on one rank of a grid. */
    public static MemoryPlan of(ModelSpec config, int batch, ProcessGrid grid, int rank) {
        return of(config, batch, DType.F32, grid, rank);
    }

    /** The plan of a step of {@code batch} local samples, matrix products in {@code compute}, on a rank of a grid. */
    public static MemoryPlan of(ModelSpec config, int batch, DType compute, ProcessGrid grid, int rank) {
        return of(config, batch, 1, compute, grid, rank);
    }

    /** The plan of a step of {@code microBatches} batches of {@code batch} local samples on a rank of a grid. */
    public static MemoryPlan of(ModelSpec config, int batch, int microBatches, DType compute, ProcessGrid grid,
        int rank) {
        DryRunDevice device = new DryRunDevice();
        return of(config, batch, StepOptions.of(compute, GradientSync.Options.DEFAULT).with(microBatches),
            new Communicators(grid, rank, device.ops().memory()::copy, DryRunCommunicator::new), device,
            StepObserver.NONE);
    }

    /**
     * The plan of a step of {@code batch} local samples, observed by the device and the communicators that are given.
     *
     * @param communicators those of a rank of a grid, which move nothing; closed by this method
     * @param device        closed by this method
     * @param observer      is told of the last micro-batch of the training step
     */
    public static MemoryPlan of(ModelSpec config, int batch, StepOptions options, Communicators communicators,
        DryRunDevice device, StepObserver observer) {
        try (device;
            DeviceArena state = device.arena("state", UNBOUNDED);
            DeviceArena kept = device.arena("activations", UNBOUNDED);
            DeviceArena scratch = device.arena("scratch", UNBOUNDED);
            DeviceArena images = device.arena("images", UNBOUNDED);
            communicators) {
            Replica replica = new Replica(device, config, batch, new StepMemory(state, kept, scratch),
                communicators, options);
            Tensor input = images.allocate(DType.F32, batch, config.inChannels(), config.height(), config.width());
            Tensor target = images.allocate(DType.F32, batch, config.outChannels(), config.height(), config.width());
            observer.stepBegins();
            replica.step().run(input, target,
                new TrainStep.Context(0, 0, options.microBatches() - 1, IndexSpan.whole(batch), 0));
            double flops = options.microBatches() * device.flops();
            observer.stepEnds();
            replica.evaluator().evaluate(input, target);
            long saved = replica.step().state().share(communicators.grid(), communicators.rank()).stream()
                .mapToLong(slice -> slice.here().bytes()).sum();
            return new MemoryPlan(state.highWatermark(), kept.highWatermark(), scratch.highWatermark(), saved,
                device.footprint(), flops);
        }
    }

    /** The plan of a {@link Predictor} of {@code batch} local samples, which needs no gradients and no optimizer. */
    public static MemoryPlan ofForecast(ModelSpec model, int batch, DType compute, ProcessGrid grid, int rank) {
        try (DryRunDevice device = new DryRunDevice();
            DeviceArena state = device.arena("state", UNBOUNDED);
            DeviceArena kept = device.arena("activations", UNBOUNDED);
            DeviceArena scratch = device.arena("scratch", UNBOUNDED);
            Communicators communicators =
                new Communicators(grid, rank, device.ops().memory()::copy, DryRunCommunicator::new)) {
            Predictor predictor = new Predictor(device, model, batch, new StepMemory(state, kept, scratch),
                communicators, compute);
            predictor.predict();
            predictor.advance();
            return new MemoryPlan(state.highWatermark(), kept.highWatermark(), scratch.highWatermark(), 0,
                device.footprint(), device.flops());
        }
    }
}
