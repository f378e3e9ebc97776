package org.isobar.plan.calibrate;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.Supplier;

import org.isobar.bench.measure.Spread;
import org.isobar.device.Device;
import org.isobar.device.DeviceArena;
import org.isobar.device.Stopwatch;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Work;
import org.isobar.plan.machine.CollectiveTable;
import org.isobar.tensor.Tensor;

/**
 * Times of collectives of one group that run beside computation, by operation and bytes: what a collective adds to a
 * loop in which each rank computes before it, and between its issue and the wait for it. Measured back to back, the
 * ranks would reach each collective at once, with its data in the caches and its threads awake.
 */
public final class OverlappedCollectives implements RepeatedMeasurement {
    private static final long SMALLEST = 1 << 16;
    private static final long LARGEST = 1 << 24;
    private static final int STEP = 4; // factor between sizes
    /** All-reduces of {@link #COMPILED} values, in which the JVM compiles what the loops compute. */
    private static final int COMPILING = 2_000;
    private static final long COMPILED = 1 << 16;
    private static final int REPETITIONS = 12;
    /** Values that are copied on either side of the issue: more than the caches of a core hold. */
    private static final long COMPUTED = 1 << 20;

    private final Device device;
    private final Communicator group;
    private final Map<Kind, List<Double>> seconds = new TreeMap<>(Comparator.comparing(Kind::bytes)
        .thenComparing(Kind::name)); // of each round

    private record Kind(String name, long bytes) { }

    /** Measures a group, all ranks of which do the same. */
    public OverlappedCollectives(Device device, Communicator group) {
        this.device = device;
        this.group = group;
    }

    @Override
    public void warmUp() {
        compute(this::warmUp);
    }

    @Override
    public void round() {
        compute(computation -> {
            for (long bytes = SMALLEST; bytes <= LARGEST; bytes *= STEP) {
                measure(Math.max(1, bytes / Float.BYTES / group.group().size()), computation);
            }
        });
    }

    /** Provides what the ranks compute before and after the issue of a collective. */
    private void compute(Consumer<Runnable> measurement) {
        try (DeviceArena arena = device.arena("computation", 2 * COMPUTED * Float.BYTES + (1 << 20))) {
            Tensor from = arena.f32(COMPUTED);
            Tensor to = arena.f32(COMPUTED);
            device.ops().memory().fill(from, 0);
            measurement.accept(() -> device.ops().memory().copy(to, from));
        }
    }

    /** Measures each operation on a tensor of which each rank has {@code part} values. */
    private void measure(long part, Runnable computation) {
        int ranks = group.group().size();
        try (DeviceArena arena = device.arena("collectives", 2 * part * ranks * Float.BYTES + (1 << 20))) {
            Tensor whole = arena.f32(part * ranks);
            device.ops().memory().fill(whole, 0);
            calls(group, whole).forEach((name, call) -> seconds.computeIfAbsent(
                new Kind(name + CollectiveTable.OVERLAPPED, whole.bytes()), _ -> new ArrayList<>())
                .add(added(call, computation)));
        }
    }

    /**
     * The medians of the rounds.
     *
     * @param nodes number of nodes that the ranks are on, evenly
     */
    public List<CollectiveTable.Row> rows(int nodes) {
        return seconds.entrySet().stream().map(each -> new CollectiveTable.Row(each.getKey().name, nodes,
            group.group().size() / nodes, each.getKey().bytes, Spread.of(each.getValue()).median())).toList();
    }

    /** What issues each operation on {@code whole}, of which each rank has the same part, by name. */
    static Map<String, Supplier<Work>> calls(Communicator group, Tensor whole) {
        long part = whole.elements() / group.group().size();
        Tensor own = whole.slice(group.group().index() * part, part);
        return new TreeMap<>(Map.of(
            "allreduce", () -> group.allReduce(whole, Reduction.SUM),
            "allgather", () -> group.allGather(whole, own),
            "reducescatter", () -> group.reduceScatter(own, whole, Reduction.SUM)));
    }

    private void warmUp(Runnable computation) {
        try (DeviceArena arena = device.arena("collectives", 2 * COMPILED * Float.BYTES)) {
            Tensor values = arena.f32(COMPILED);
            device.ops().memory().fill(values, 0);
            for (int i = 0; i < COMPILING; i++) {
                group.allReduce(values, Reduction.SUM).await();
            }
            loop(COMPILING / 4, () -> group.allReduce(values, Reduction.SUM), computation);
        }
    }

    /** Seconds that {@code call} adds to the computation, at least those that it takes back to back. */
    private double added(Supplier<Work> call, Runnable computation) {
        double computed = loop(REPETITIONS, Work::completed, computation);
        double both = loop(REPETITIONS, call, computation);
        return Math.max(both - computed, loop(REPETITIONS, call, () -> { }));
    }

    /** Seconds of a repetition, from when all ranks begin until all of them have finished. */
    private double loop(int repetitions, Supplier<Work> call, Runnable computation) {
        try (Stopwatch stopwatch = device.stopwatch()) {
            group.barrier().await();
            stopwatch.mark();
            for (int i = 0; i < repetitions; i++) {
                computation.run();
                Work work = call.get();
                computation.run();
                work.await();
            }
            group.barrier().await();
            stopwatch.mark();
            return stopwatch.laps()[0] / repetitions;
        }
    }
}
