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
        List<Double> losses = new ArrayList<>();
        Spread seconds;
        try (Series series = open()) {
            seconds = series.run(plan.warmup, plan.steps, losses);
        }
        StepResult.Memory memory = new StepResult.Memory(memoryPlan.bytes()
            + device.workspaceBytes(memoryPlan.footprint()) + (inputs(batch).elements() + targets(batch).elements())
            * Float.BYTES, device.memory().highWatermark());
        StepResult whole = start.with(losses.subList(0, LOSSES), seconds, memory, List.of());
        partial.accept(whole);
        return plan.detail == Detail.STEPS ? whole : whole.with(losses.subList(0, LOSSES), seconds, memory,
            operations(Math.min(OBSERVED_STEPS, plan.steps)).groups(plan.timing));
    }

    /** Opens a series of whole steps. All ranks do so at the same time. */
    public Series open() {
        device.reserve(memoryPlan.footprint());
        return new Series();
    }

    /** The single batch, in device memory. */
    private final class Batch implements AutoCloseable {
        private final HostBuffer inputs = device.hostBuffer(DType.F32, inputs(batch));
        private final HostBuffer targets = device.hostBuffer(DType.F32, targets(batch));
        private final Tensor input;
        private final Tensor target;

        Batch() {
            SeededNumbers.fill(inputs.segment(), "input", 0, 1);
            SeededNumbers.fill(targets.segment(), "target", 0, 1);
            input = inputs.toDevice();
            target = targets.toDevice();
        }

        @Override
        public void close() {
            targets.close();
            inputs.close();
        }
    }

    /** Whole steps of a replica that stays in memory. All ranks of a job run them at the same time. */
    public final class Series implements AutoCloseable {
        private final Batch data = new Batch();
        private final StepMemory memory = memoryPlan.allocate(device);
        private final Stopwatch stopwatch = device.stopwatch();
        private final Replica replica = new Replica(device, model, batch, memory, communicators, options);
        private int done;

        private Series() {
            load(replica);
        }

        /** The times of {@code steps} steps, after {@code warmup} others. */
        public Spread run(int warmup, int steps) {
            return run(warmup, steps, new ArrayList<>());
        }

        private Spread run(int warmup, int steps, List<Double> losses) {
            for (int step = 0; step < warmup; step++) {
                losses.add(issue().get().mean());
            }
            stopwatch.mark();
            Supplier<BatchLoss> last = issue();
            stopwatch.mark();
            for (int step = 1; step < steps; step++) {
                Supplier<BatchLoss> next = issue();
                stopwatch.mark();
                losses.add(last.get().mean()); // one step later, as in training
                last = next;
            }
            losses.add(last.get().mean());
            return Spread.of(stopwatch.laps(), plan.timing, seconds -> seconds);
        }

        private Supplier<BatchLoss> issue() {
            return replica.step().issue(data.input, data.target, context(done++));
        }

        @Override
        public void close() {
            try (data; memory; stopwatch) {
                replica.close();
            }
        }
    }

    /**
     * Seconds from the start of each operation of a step to that of the next one, in the order of issue, in each of
     * {@code steps} steps after one warmup step.
     */
    public List<double[]> operationSeconds(int steps) {
        return operations(steps).untilNext();
    }

    /** Empty for captured steps, because the operations of a graph cannot be timed one by one. */
    private OperationTimes operations(int steps) {
        OperationTimes times = new OperationTimes();
        if (options.launch() == StepLaunch.GRAPH) {
            return times;
        }
        device.reserve(memoryPlan.footprint());
        try (Batch data = new Batch()) {
            measure(times, data, steps);
        }
        return times;
    }

    private void measure(OperationTimes times, Batch data, int steps) {
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
