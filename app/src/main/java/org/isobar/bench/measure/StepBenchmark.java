package org.isobar.bench.measure;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Supplier;

import org.isobar.backend.dryrun.DryRunDevice;
import org.isobar.config.RunConfig;
import org.isobar.device.Device;
import org.isobar.device.HostBuffer;
import org.isobar.device.Stopwatch;
import org.isobar.device.ops.IndexSpan;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicators;
import org.isobar.fault.UserException;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.isobar.tensor.Tensor;
import org.isobar.train.engine.AttentionSelection;
import org.isobar.train.engine.ProductSelection;
import org.isobar.train.memory.MemoryCheck;
import org.isobar.train.memory.MemoryPlan;
import org.isobar.train.step.BatchLoss;
import org.isobar.train.step.GradientSync;
import org.isobar.train.step.Replica;
import org.isobar.train.step.StepLaunch;
import org.isobar.train.step.StepMemory;
import org.isobar.train.step.StepOptions;
import org.isobar.train.step.TrainStep;
import org.isobar.vit.VitConfig;

/**
 * Measures the training step of a configuration on one device: first whole steps, then each operation in further steps.
 * Weights and the single batch come from {@link SeededNumbers} and stay in device memory.
 */
public final class StepBenchmark {
    private static final int LOSSES = 3; // reported; the second and third depend on updates
    private static final int OBSERVED_STEPS = 20; // at most, after one warmup step

    private final RunConfig config;
    private final VitConfig model;
    private final Device device;
    private final Communicators communicators;
    private final Plan plan;
    private final StepOptions options;
    private final int batch;
    private final MemoryPlan memoryPlan;

    /**
     * Scope of the measurement.
     *
     * @param warmup steps before the measurement
     * @param steps  measured steps
     */
    public record Plan(int warmup, int steps, Timing timing, Detail detail) {
        public Plan {
            if (warmup < 1 || steps < 1 || warmup + steps < LOSSES) {
                throw new UserException("--warmup_steps and --steps must be at least 1 each and " + LOSSES
                    + " together, because " + LOSSES + " losses are reported");
            }
        }
    }

    /** What is timed. */
    public enum Detail {
        /** Only whole steps. */
        STEPS,
        /** Whole steps, then each operation in further steps. */
        OPERATIONS
    }

    /**
     * Creates the benchmark of a configuration for one process. cuDNN computes attention only with
     * {@code --attention=cudnn}. The algorithms of products are timed, but not kept.
     *
     * @throws org.isobar.device.OutOfDeviceMemoryException if it does not fit in device memory
     */
    public StepBenchmark(RunConfig config, Device device, Plan plan) {
        this(alone(config), device, Communicators.alone(device.ops().memory()::copy), plan);
    }

    /**
     * Creates the benchmark of this rank of a job. All ranks create and run theirs at the same time.
     *
     * @param communicators of the configuration's grid
     * @throws IllegalArgumentException if the operations of several ranks are to be measured
     */
    public StepBenchmark(RunConfig config, Device device, Communicators communicators, Plan plan) {
        if (plan.detail != Detail.STEPS && communicators.grid().worldSize() > 1) {
            throw new IllegalArgumentException("operations are measured in one process");
        }
        this.config = config;
        this.device = device;
        this.communicators = communicators;
        this.plan = plan;
        if (!(config.model() instanceof VitConfig vit)) {
            throw new UserException("bench step measures the vision transformer beside PyTorch's; give a preset with "
                + "architecture vit");
        }
        model = vit;
        batch = config.training().localBatchSize();
        options = StepOptions.of(config.training(), device, GradientSync.Options.DEFAULT).with(1);
        AttentionSelection.force(config, device, options.compute());
        memoryPlan = MemoryCheck.require(device, new MemoryCheck.Run(model, batch, 1, options.compute(),
            new MemoryCheck.Member(config.grid(), communicators.rank(), config.parallel().carrier()),
            new MemoryCheck.Inputs((inputs(1).elements() + targets(1).elements()) * Float.BYTES, any -> 1, 0),
            MemoryCheck.Saving.NOTHING),
            device.memory().available());
        ProductSelection.choose(config, device, memoryPlan);
    }

    private static RunConfig alone(RunConfig config) {
        if (config.ranks().worldSize() > 1) {
            throw new UserException("bench step measures one process, but the world size is "
                + config.ranks().worldSize());
        }
        return config;
    }

    /** Runs the benchmark. Passes partial results to {@code partial}: the description first, then the whole steps. */
    public StepResult run(Consumer<StepResult> partial) {
        StepResult start = description();
        partial.accept(start);
        device.reserve(memoryPlan.footprint());
        try (HostBuffer input = device.hostBuffer(DType.F32, inputs(batch));
            HostBuffer target = device.hostBuffer(DType.F32, targets(batch))) {
            SeededNumbers.fill(input.segment(), "input", 0, 1);
            SeededNumbers.fill(target.segment(), "target", 0, 1);
            Batch data = new Batch(input.toDevice(), target.toDevice());
            List<Double> losses = new ArrayList<>();
            Spread seconds = steps(data, losses);
            StepResult.Memory memory =
                new StepResult.Memory(memoryPlan.bytes() + device.workspaceBytes(memoryPlan.footprint())
                + data.input.bytes() + data.target.bytes(), device.memory().highWatermark());
            StepResult whole = start.with(losses, seconds, memory, List.of());
            partial.accept(whole);
            return plan.detail == Detail.STEPS ? whole : whole.with(losses, seconds, memory,
                operations(data, Math.min(OBSERVED_STEPS, plan.steps)).groups(plan.timing));
        }
    }

    /** @param input (B, Cin, H, W) */
    private record Batch(Tensor input, Tensor target) { }

    private Spread steps(Batch data, List<Double> losses) {
        try (StepMemory memory = memoryPlan.allocate(device);
            Stopwatch stopwatch = device.stopwatch();
            Replica replica = new Replica(device, model, batch, memory, communicators, options)) {
            load(replica);
            for (int step = 0; step < plan.warmup; step++) {
                losses.add(replica.step().run(data.input, data.target, context(step)));
            }
            stopwatch.mark();
            Supplier<BatchLoss> last = replica.step().issue(data.input, data.target, context(plan.warmup));
            stopwatch.mark();
            for (int step = plan.warmup + 1; step < plan.warmup + plan.steps; step++) {
                Supplier<BatchLoss> next = replica.step().issue(data.input, data.target, context(step));
                stopwatch.mark();
                losses.add(last.get().mean()); // one step later, as in training
                last = next;
            }
            losses.add(last.get().mean());
            losses.subList(LOSSES, losses.size()).clear();
            return Spread.of(stopwatch.laps(), plan.timing, seconds -> seconds);
        }
    }

    /**
     * Seconds from the start of each operation of a step to that of the next one, in the order of issue, in each of
     * {@code steps} steps after one warmup step.
     */
    public List<double[]> operationSeconds(int steps) {
        device.reserve(memoryPlan.footprint());
        try (HostBuffer input = device.hostBuffer(DType.F32, inputs(batch));
            HostBuffer target = device.hostBuffer(DType.F32, targets(batch))) {
            SeededNumbers.fill(input.segment(), "input", 0, 1);
            SeededNumbers.fill(target.segment(), "target", 0, 1);
            return operations(new Batch(input.toDevice(), target.toDevice()), steps).untilNext();
        }
    }

    /** Empty for captured steps, because the operations of a graph cannot be timed one by one. */
    private OperationTimes operations(Batch data, int steps) {
        OperationTimes times = new OperationTimes();
        if (options.launch() == StepLaunch.GRAPH) {
            return times;
        }
        try (DryRunDevice dry = new DryRunDevice();
            StepMemory nothing = memoryPlan.allocate(dry);
            Replica replica = observed(ObservedDevice.of(dry, times.count(dry)), nothing)) {
            times.clear(); // operations of the constructor
            replica.step().run(data.input, data.target, context(0));
        }
        try (StepMemory memory = memoryPlan.allocate(device);
            Stopwatch stopwatch = device.stopwatch();
            Replica replica = observed(ObservedDevice.of(device, OperationTimes.mark(stopwatch)), memory)) {
            load(replica);
            for (int step = 0; step <= steps; step++) {
                stopwatch.laps();
                replica.step().run(data.input, data.target, context(step));
                if (step > 0) {
                    times.add(stopwatch.laps());
                }
            }
        }
        return times;
    }

    /** Copies of communicators of one rank are operations, too. */
    private Replica observed(Device on, StepMemory memory) {
        return new Replica(on, model, batch, memory, Communicators.alone(on.ops().memory()::copy),
            options.with(StepLaunch.EAGER));
    }

    private TrainStep.Context context(int step) {
        return new TrainStep.Context(config.training().seed(), step,
            new IndexSpan(communicators.coordinate(Axis.DP), config.grid().size(Axis.DP),
                (long) batch * config.grid().size(Axis.DP)), config.training().lr());
    }

    /** Sets the weights that PyTorch uses. */
    private void load(Replica replica) {
        device.ops().memory().fill(replica.model().parameters().values(), 0); // padding included
        replica.model().parameters().stateDict().forEach((name, weight) -> {
            try (Arena arena = Arena.ofShared()) {
                MemorySegment host = arena.allocate(weight.bytes(), Float.BYTES);
                SeededNumbers.fill(host, name, SeededNumbers.centre(name), SeededNumbers.WEIGHT_DEVIATION);
                device.upload(weight, host);
            }
        });
        replica.model().parameters().refresh(device.ops());
    }

    private Shape inputs(int samples) {
        return Shape.of(samples, model.inChannels(), model.height(), model.width());
    }

    private Shape targets(int samples) {
        return Shape.of(samples, model.outChannels(), model.height(), model.width());
    }

    private StepResult description() {
        StepResult.Model extents = new StepResult.Model(List.of(model.height(), model.width()), model.patch(),
            model.inChannels(), model.outChannels(), model.embed(), model.depth(), model.heads());
        Map<String, String> facts = new LinkedHashMap<>();
        facts.put("device", device.description());
        List<String> kernels = device.kernels(memoryPlan.footprint(), options.compute());
        for (int i = 0; i < kernels.size(); i++) {
            facts.put("kernels " + (i + 1), kernels.get(i));
        }
        String mode = (AttentionSelection.current(device).isPresent() ? "cudnn " : "")
            + (options.launch() == StepLaunch.GRAPH ? "graphs" : "steps");
        AttentionSelection.current(device).ifPresent(library -> facts.put("attention", library));
        ProductSelection.current(device).ifPresent(library -> facts.put("products", library));
        return new StepResult("isobar", mode, config.name(), ProductTypes.name(device, options.compute()), extents,
            batch, config.training().lr(), plan.warmup, plan.steps, memoryPlan.stepFlops(), List.of(), null,
            new StepResult.Memory(0, 0), List.of(), facts);
    }
}
