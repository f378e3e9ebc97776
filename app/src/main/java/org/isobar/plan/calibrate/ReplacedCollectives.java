package org.isobar.plan.calibrate;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.backend.dryrun.DryRunCommunicator;
import org.isobar.bench.measure.Spread;
import org.isobar.bench.measure.StepBenchmark;
import org.isobar.bench.measure.Timing;
import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.RunConfig;
import org.isobar.device.Device;
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
 * Times of collectives in training steps that are sharded over one axis: what each adds to a step whose collectives are
 * replaced by it, issued and awaited where the step issues and awaits its own. That includes the time in which a rank
 * waits for another whose computation took longer.
 */
final class ReplacedCollectives implements RepeatedMeasurement, AutoCloseable {
    private static final long LARGE = 1 << 21; // bytes; of n times larger collectives, a step has one in n of its own
    private static final double SHORTEST = 1e-6; // seconds, where a difference of steps is noise
    private static final int WARMUP = 2; // steps of each collective that do not count
    private static final int STEPS = 3;

    private final Communicators communicators;
    private final Communicator group;
    private final Replacement replacement = new Replacement();
    private final Communicators replaced;
    private final StepBenchmark.Series training;
    private final List<Measured> all;
    private final List<Double> alone = new ArrayList<>(); // seconds of a step without collectives, by round

    /**
     * A collective.
     *
     * @param operation its name in a {@link CollectiveTable}
     * @param bytes     bytes of the whole tensor
     * @param issue     issues it to a group
     */
    record Call(String operation, long bytes, Function<Communicator, Work> issue) { }

    /** Seconds of a step, and the collectives in it. */
    private record Step(double seconds, double collectives) { }

    /** A collective, and the steps that were made of it, by round. */
    private record Measured(Call call, List<Step> steps) { }

    /** Runs a collective in the place of those that a step issues, and counts it. */
    private final class Replacement implements RecordingCommunicator.Recorder {
        private final Map<List<Object>, Work> pending = new HashMap<>(); // by group and number of the step's call
        private Call call;
        private long met;
        private int issued;

        @Override
        public void opened(ProcessGroup opened) { }

        @Override
        public void issued(ProcessGroup to, CollectiveCall own, Tensor tensor) {
            if (call != null && met++ % Math.max(1, call.bytes / LARGE) == 0) {
                issued++;
                pending.put(List.of(to.name(), own.number()), call.issue.apply(group));
            }
        }

        @Override
        public void awaited(ProcessGroup by, CollectiveCall own) {
            Work work = pending.remove(List.of(by.name(), own.number()));
            if (work != null) {
                work.await();
            }
        }
    }

    /**
     * Prepares the measurement of all ranks of a job.
     *
     * @param preset the model, with this rank's environment
     * @param axis   along which all ranks share the model
     */
    ReplacedCollectives(Device device, Communicators job, ConfigRequest preset, Axis axis, List<Call> calls) {
        RunConfig config = ConfigLoader.load(preset.with(
            axis == Axis.TP ? "tensor_parallel" : "context_parallel", "" + job.grid().worldSize()));
        communicators = job.in(config.grid());
        group = communicators.along(axis);
        all = calls.stream().map(call -> new Measured(call, new ArrayList<>())).toList();
        replaced = new Communicators(config.grid(), job.rank(), device.ops().memory()::copy,
            axes -> new RecordingCommunicator(new DryRunCommunicator(axes), replacement));
        training = new StepBenchmark(config, device, replaced,
            new StepBenchmark.Plan(1, STEPS, Timing.MEASURED, StepBenchmark.Detail.STEPS)).open();
    }

    /** Runs steps, after Java has compiled what a step of a model calls. */
    @Override
    public void warmUp() {
        all.forEach(each -> step(each.call, WARMUP));
    }

    /** Measures steps without collectives as often as others, between them. */
    @Override
    public void round() {
        alone.add(Spread.of(all.stream().mapToDouble(each -> {
            each.steps.add(step(each.call, STEPS));
            return step(null, STEPS).seconds;
        }).toArray()).median());
    }

    /**
     * The medians of the rounds.
     *
     * @param nodes number of nodes that the ranks are on, evenly
     */
    Stream<CollectiveTable.Row> rows(int nodes) {
        return all.stream().map(each -> new CollectiveTable.Row(each.call.operation, nodes,
            group.group().size() / nodes, each.call.bytes, Math.max(SHORTEST, added(each))));
    }

    /** Seconds that a collective adds to a step. */
    private double added(Measured collective) {
        return Spread.of(IntStream.range(0, alone.size()).mapToDouble(round -> {
            Step step = collective.steps.get(round);
            return (step.seconds - alone.get(round)) / step.collectives;
        }).toArray()).median();
    }

    /** The median of some steps whose collectives are replaced by another, or left out if {@code call} is null. */
    private Step step(Call call, int steps) {
        replacement.call = call;
        replacement.met = 0;
        replacement.issued = 0;
        group.barrier().await();
        return new Step(training.run(0, steps).median(), (double) replacement.issued / steps);
    }

    @Override
    public void close() {
        try (communicators; replaced) {
            training.close();
        }
    }
}
