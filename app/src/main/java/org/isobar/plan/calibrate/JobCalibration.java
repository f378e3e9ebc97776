package org.isobar.plan.calibrate;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.stream.Stream;

import org.isobar.config.ConfigRequest;
import org.isobar.device.Device;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGrid;
import org.isobar.plan.machine.CollectiveTable;
import org.isobar.plan.machine.MeasuredOperation;

/**
 * What several processes of this machine do at once: collectives, and the operations of steps if each process has a
 * core. One job of four processes measures four of them and, while the others wait, two. So Java compiles once, and
 * rounds of both alternate.
 */
public final class JobCalibration {
    /** Number of processes of the job. */
    public static final int PROCESSES = LayoutSteps.RANKS.getLast();

    private final Device device;
    private final Communicators job;
    private final Settings settings;

    /**
     * How to measure.
     *
     * @param devices     opens a device with the threads that each of a number of processes has
     * @param preset      any preset that is trained with synthetic data, in an environment
     * @param environment of this process
     * @param steps       steps of each size in each round
     * @param layouts     whether training steps in each layout are measured, too
     */
    public record Settings(IntFunction<Device> devices, Function<Map<String, String>, ConfigRequest> preset,
        Map<String, String> environment, int steps, boolean layouts) {

        /** The preset in a job of fewer processes. */
        private ConfigRequest preset(int processes) {
            Map<String, String> variables = new HashMap<>(environment);
            variables.putAll(Map.of("WORLD_SIZE", "" + processes, "LOCAL_WORLD_SIZE", "" + processes));
            return preset.apply(variables);
        }
    }

    /**
     * What was measured.
     *
     * @param operations of one process while the others do the same, by number of processes; none if each has less
     *                   than a core: then an operation takes as many times longer as there are fewer cores
     */
    public record Times(List<CollectiveTable.Row> collectives,
        NavigableMap<Integer, List<MeasuredOperation>> operations,
        List<LayoutSteps.Time> layouts) {
        /** No times. */
        public static Times nothing() {
            return new Times(new ArrayList<>(), new TreeMap<>(), new ArrayList<>());
        }
    }

    /** Measures a job of {@link #PROCESSES}. */
    public JobCalibration(Device device, Communicators job, Settings settings) {
        this.device = device;
        this.job = job;
        this.settings = settings;
    }

    /** Measures. All ranks of the job call this at the same time; the times of rank 0 are complete. */
    public Times measure() {
        Times times = Times.nothing();
        operations(device, PROCESSES, job).compile();
        List<Members> mine = new ArrayList<>();
        try {
            List<JobTurn> turns = new ArrayList<>();
            for (int processes : LayoutSteps.RANKS) {
                Optional<Members> members =
                    job.rank() < processes ? Optional.of(new Members(processes)) : Optional.empty();
                members.ifPresent(mine::add);
                turns.add(new JobTurn(job, members));
            }
            RepeatedMeasurement.interleave(turns);
            mine.forEach(members -> members.addTo(times));
            JobTurn.awaitAll(job);
        } finally {
            mine.reversed().forEach(Members::close);
        }
        return times;
    }

    private OperationRounds operations(Device on, int processes, Communicators members) {
        return new OperationRounds(on, settings.preset.apply(Map.of()), processes, settings.steps,
            () -> JobTurn.awaitAll(members));
    }

    /** All measurements of some processes. */
    private final class Members implements RepeatedMeasurement, AutoCloseable {
        private final int processes;
        private final Device own;
        private final Communicators communicators;
        private final Optional<OperationRounds> operations;
        private final OverlappedCollectives overlapped;
        private final AwaitedCollectives awaited;
        private final Optional<LayoutSteps> layouts;

        Members(int processes) {
            this.processes = processes;
            own = settings.devices.apply(processes);
            communicators = job.in(ProcessGrid.fit(ProcessGrid.DEFAULT_ORDER, processes, 1, 1, 1));
            operations = Optional.of(processes).filter(all -> all <= Runtime.getRuntime().availableProcessors())
                .map(all -> operations(own, all, communicators));
            overlapped = new OverlappedCollectives(own, communicators.along(Axis.DP));
            awaited = new AwaitedCollectives(own, communicators, settings.preset(processes));
            layouts = Optional.of(processes).filter(_ -> settings.layouts)
                .map(all -> new LayoutSteps(own, communicators, settings.preset(all)));
        }

        private Stream<RepeatedMeasurement> all() {
            return Stream.of(operations.stream(), Stream.of(overlapped, awaited), layouts.stream())
                .flatMap(each -> each);
        }

        @Override
        public void warmUp() {
            all().forEach(RepeatedMeasurement::warmUp);
        }

        @Override
        public void round() {
            all().forEach(RepeatedMeasurement::round);
        }

        void addTo(Times times) {
            operations.ifPresent(measured -> times.operations.put(processes, measured.operations()));
            times.collectives.addAll(overlapped.rows(1));
            times.collectives.addAll(awaited.rows(1));
            layouts.ifPresent(measured -> times.layouts.addAll(measured.times()));
        }

        @Override
        public void close() {
            try (own; communicators; awaited) {
                layouts.ifPresent(LayoutSteps::close);
            }
        }
    }
}
