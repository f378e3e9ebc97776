package org.isobar.plan.calibrate;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.stream.IntStream;

import org.isobar.backend.dryrun.DryRunCommunicator;
import org.isobar.bench.measure.Spread;
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
public final class AwaitedCollectives {
    private static final ModelSizes MODEL = new ModelSizes(256, 6, 8, 2);
    private static final List<Long> BYTES = List.of(1L << 12, 1L << 18, 1L << 20, 1L << 22);
    private static final double SHORTEST = 1e-6; // seconds, where a difference of steps is noise
    private static final int ROUNDS = 3;
    private static final int COMPILING = 20; // steps that do not count, after those that compile the model itself
    private static final int WARMUP = 1;
    private static final int STEPS = 6;

    private final Device device;
    private final Communicators job;
    private final ConfigRequest preset;

    /** Seconds of a step, and the collectives in it. */
    private record Step(double seconds, int collectives) { }

    /** A collective, and the steps that were made of it, by round. */
    private record Collective(String name, long bytes, Supplier<Work> issue, List<Step> steps) {
        private Collective(String name, long bytes, Supplier<Work> issue) {
            this(name, bytes, issue, new ArrayList<>());
        }

        /** Seconds that it adds to a step: the median of the rounds, given steps without collectives by round. */
        private double added(List<Double> alone) {
            return Math.max(SHORTEST, Spread.of(IntStream.range(0, alone.size()).mapToDouble(round ->
                (steps.get(round).seconds - alone.get(round)) / steps.get(round).collectives).toArray()).median());
        }
    }

    /** Runs a collective in the place of each that a step issues, and counts them. */
    private static final class Replacement implements RecordingCommunicator.Recorder {
        private final Supplier<Work> collective;
        private int issued;

        private Replacement(Supplier<Work> collective) {
            this.collective = collective;
        }

        @Override
        public void opened(ProcessGroup group) { }

        @Override
        public void issued(ProcessGroup group, CollectiveCall call, Tensor tensor) {
            issued++;
            collective.get().await();
        }
    }

    /**
     * Measures all ranks of a job.
     *
     * @param preset any preset that is trained with synthetic data, with this rank's environment
     */
    public AwaitedCollectives(Device device, Communicators job, ConfigRequest preset) {
        this.device = device;
        this.job = job;
        this.preset = preset;
    }

    /**
     * Measures all operations, after {@link CpuCalibration#operations}, in which Java compiles the steps of models. All
     * ranks call this at the same time.
     *
     * @param nodes number of nodes that the ranks are on, evenly
     */
    public List<CollectiveTable.Row> measure(int nodes) {
        return measure(nodes, MODEL, BYTES, ROUNDS);
    }

    List<CollectiveTable.Row> measure(int nodes, ModelSizes model, List<Long> bytes, int rounds) {
        int ranks = job.grid().worldSize();
        RunConfig config = ConfigLoader.load(model.in(preset).with("tensor_parallel", "" + ranks));
        try (Communicators communicators = job.in(config.grid());
            DeviceArena arena = device.arena("collectives", 2 * bytes.getLast())) {
            Communicator group = communicators.along(Axis.TP);
            Tensor values = arena.f32(bytes.getLast() / Float.BYTES);
            device.ops().memory().fill(values, 0);
            List<List<Collective>> sizes = bytes.stream().map(each -> collectives(group, values, each)).toList();
            step(config, group, sizes.getFirst().getFirst().issue, COMPILING);
            List<Double> alone = new ArrayList<>();
            for (int round = 0; round < rounds; round++) {
                alone.add(Spread.of(sizes.stream().mapToDouble(size -> {
                    size.forEach(each -> each.steps.add(step(config, group, each.issue, WARMUP)));
                    return step(config, group, Work::completed, WARMUP).seconds;
                }).toArray()).median());
            }
            return sizes.stream().flatMap(List::stream).map(each -> new CollectiveTable.Row(each.name, nodes,
                ranks / nodes, each.bytes, each.added(alone))).toList();
        }
    }

    private static List<Collective> collectives(Communicator group, Tensor values, long bytes) {
        return OverlappedCollectives.calls(group, values.slice(0, bytes / Float.BYTES)).entrySet().stream()
            .map(call -> new Collective(call.getKey(), bytes, call.getValue())).toList();
    }

    /** The median of some steps whose collectives are replaced by another, after {@code warmup} such steps. */
    private Step step(RunConfig config, Communicator group, Supplier<Work> collective, int warmup) {
        Replacement replacement = new Replacement(collective);
        group.barrier().await();
        try (Communicators replaced = new Communicators(config.grid(), job.rank(), device.ops().memory()::copy,
            axes -> new RecordingCommunicator(new DryRunCommunicator(axes), replacement))) {
            return new Step(LayoutSteps.median(config, device, replaced, warmup, STEPS),
                replacement.issued / (warmup + STEPS));
        }
    }
}
