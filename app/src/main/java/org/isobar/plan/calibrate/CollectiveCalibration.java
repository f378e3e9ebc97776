package org.isobar.plan.calibrate;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
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

/** Times of collectives of one group by operation and bytes, like those that nccl-tests print. */
public final class CollectiveCalibration {
    private static final long SMALLEST = 1 << 10;
    private static final long LARGEST = 1 << 24;
    private static final int STEP = 4; // factor between sizes
    private static final int WARMUP = 3;
    /** All-reduces of {@link #COMPILED} values, in which the JVM compiles what collectives compute. */
    private static final int COMPILING = 2_000;
    private static final long COMPILED = 1 << 16;
    private static final int REPETITIONS = 15;

    private final Device device;
    private final Communicator group;

    /** Measures a group, all ranks of which do the same. */
    public CollectiveCalibration(Device device, Communicator group) {
        this.device = device;
        this.group = group;
    }

    /**
     * Measures all operations.
     *
     * @param nodes number of nodes that the ranks are on, evenly
     */
    public List<CollectiveTable.Row> measure(int nodes) {
        int ranks = group.group().size();
        warmUp();
        List<CollectiveTable.Row> rows = new ArrayList<>();
        for (long bytes = SMALLEST; bytes <= LARGEST; bytes *= STEP) {
            long part = Math.max(1, bytes / Float.BYTES / ranks);
            try (DeviceArena arena = device.arena("collectives", 2 * bytes + 2 * (1 << 20))) {
                Tensor whole = arena.f32(part * ranks);
                Tensor own = whole.slice(group.group().index() * part, part);
                device.ops().memory().fill(whole, 0);
                Map<String, Supplier<Work>> calls = Map.of(
                    "allreduce", () -> group.allReduce(whole, Reduction.SUM),
                    "allgather", () -> group.allGather(whole, own),
                    "reducescatter", () -> group.reduceScatter(own, whole, Reduction.SUM));
                for (String name : List.of("allreduce", "allgather", "reducescatter")) {
                    rows.add(new CollectiveTable.Row(name, nodes, ranks / nodes, whole.bytes(),
                        median(calls.get(name))));
                }
            }
        }
        return rows;
    }

    private void warmUp() {
        try (DeviceArena arena = device.arena("collectives", 2 * COMPILED * Float.BYTES)) {
            Tensor values = arena.f32(COMPILED);
            device.ops().memory().fill(values, 0);
            for (int i = 0; i < COMPILING; i++) {
                group.allReduce(values, Reduction.SUM).await();
            }
        }
    }

    private double median(Supplier<Work> call) {
        try (Stopwatch stopwatch = device.stopwatch()) {
            for (int i = 0; i < WARMUP; i++) {
                call.get().await();
            }
            stopwatch.mark();
            for (int i = 0; i < REPETITIONS; i++) {
                call.get().await();
                stopwatch.mark();
            }
            return Spread.of(stopwatch.laps()).median();
        }
    }
}
