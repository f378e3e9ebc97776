package org.isobar.plan.calibrate;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.IntStream;

import org.isobar.backend.dryrun.DryRunCommunicator;
import org.isobar.bench.measure.Spread;
import org.isobar.bench.measure.StepBenchmark;
import org.isobar.bench.measure.Timing;
import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.RunConfig;
import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.distributed.Axis;
import org.isobar.distributed.CollectiveCall;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.RecordingCommunicator;
import org.isobar.distributed.Work;
import org.isobar.plan.machine.CollectiveTable;
import org.isobar.tensor.Tensor;

/**
 * Times of collectives that are awaited at once, by operation and bytes: what each adds to a training step with tensor
 * parallelism if all collectives of the step are replaced by it. That includes the time in which a rank waits for
 * another whose computation took longer.
 */
public final class AwaitedCollectives implements RepeatedMeasurement, AutoCloseable {
    private static final ModelSizes MODEL = new ModelSizes(256, 6, 8, 2);
    private static final List<Long> BYTES = List.of(1L << 12, 1L << 18, 1L << 20, 1L << 22);
    private static final double SHORTEST = 1e-6; // seconds, where a difference of steps is noise
    private static final int COMPILING = 10; // steps that do not count, after those that compile the model itself
    private static final int STEPS = 3;

    private final int ranks;
    private final Communicators communicators;
    private final DeviceArena arena;
    private final Replacement replacement = new Replacement();
    private final Communicators replaced;
    private final StepBenchmark.Series training;
    private final List<List<Collective>> sizes;
    private final List<Double> alone = new ArrayList<>(); // seconds of a step without collectives, by round

    /** Seconds of a step, and the collectives in it. */
    private record Step(double seconds, int collectives) { }

    /** A collective, and the steps that were made of it, by round. */
    private record Collective(String name, long bytes, Supplier<Work> issue, List<Step> steps) { }

    /** Runs a collective in the place of each that a step issues, and counts them. */
    private static final class Replacement implements RecordingCommunicator.Recorder {
        private Supplier<Work> collective = Work::completed;
        private int issued;

        @Override
        public void opened(ProcessGroup group) { }

        @Override
        public void issued(ProcessGroup group, CollectiveCall call, Tensor tensor) {
            issued++;
            collective.get().await();
        }
    }

    /**
     * Prepares the measurement of all ranks of a job.
     *
     * @param preset any preset that is trained with synthetic data, with this rank's environment
     */
    public AwaitedCollectives(Device device, Communicators job, ConfigRequest preset) {
        this(device, job, preset, MODEL, BYTES);
    }

    AwaitedCollectives(Device device, Communicators job, ConfigRequest preset, ModelSizes model, List<Long> bytes) {
        ranks = job.grid().worldSize();
        RunConfig config = ConfigLoader.load(model.in(preset).with("tensor_parallel", "" + ranks));
        communicators = job.in(config.grid());
        arena = device.arena("collectives", 2 * bytes.getLast());
        Tensor values = arena.f32(bytes.getLast() / Float.BYTES);
        device.ops().memory().fill(values, 0);
        sizes = bytes.stream().map(size -> collectives(values.slice(0, size / Float.BYTES))).toList();
        replaced = new Communicators(config.grid(), job.rank(), device.ops().memory()::copy,
            axes -> new RecordingCommunicator(new DryRunCommunicator(axes), replacement));
        training = new StepBenchmark(config, device, replaced,
            new StepBenchmark.Plan(1, STEPS, Timing.MEASURED, StepBenchmark.Detail.STEPS)).open();
    }

    private List<Collective> collectives(Tensor values) {
        return OverlappedCollectives.calls(group(), values).entrySet().stream()
            .map(call -> new Collective(call.getKey(), values.bytes(), call.getValue(), new ArrayList<>())).toList();
    }

    private Communicator group() {
        return communicators.along(Axis.TP);
    }

    /** Runs steps, after Java has compiled what a step of a model calls. */
    @Override
    public void warmUp() {
        step(sizes.getFirst().getFirst().issue, COMPILING);
    }

    @Override
    public void round() {
        alone.add(Spread.of(sizes.stream().mapToDouble(size -> {
            size.forEach(each -> each.steps.add(step(each.issue, STEPS)));
            return step(Work::completed, STEPS).seconds;
        }).toArray()).median());
    }

    /**
     * The medians of the rounds.
     *
     * @param nodes number of nodes that the ranks are on, evenly
     */
    public List<CollectiveTable.Row> rows(int nodes) {
        return sizes.stream().flatMap(List::stream).map(each -> new CollectiveTable.Row(each.name, nodes,
            ranks / nodes, each.bytes, Math.max(SHORTEST, added(each)))).toList();
    }

    /** Seconds that a collective adds to a step. */
    private double added(Collective collective) {
        return Spread.of(IntStream.range(0, alone.size()).mapToDouble(round -> {
            Step step = collective.steps.get(round);
            return (step.seconds - alone.get(round)) / step.collectives;
        }).toArray()).median();
    }

    /** The median of some steps whose collectives are replaced by another. */
    private Step step(Supplier<Work> collective, int steps) {
        replacement.collective = collective;
        replacement.issued = 0;
        group().barrier().await();
        return new Step(training.run(0, steps).median(), replacement.issued / steps);
    }

    @Override
    public void close() {
        try (communicators; arena; replaced) {
            training.close();
        }
    }
}
