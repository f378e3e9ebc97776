package org.isobar.plan.calibrate;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.LongStream;
import java.util.stream.Stream;

import org.isobar.backend.dryrun.DryRunDevice;
import org.isobar.device.Device;
import org.isobar.device.Stopwatch;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.Work;
import org.isobar.plan.machine.CollectiveTable;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Test;

/** What calibration makes of collectives of known duration, on a clock that only they and computation advance. */
class OverlappedCollectivesTest {
    private static final double COMPUTATION = 1e-3;
    private static final double LATENCY = 2e-5;
    private static final double SECONDS_PER_BYTE = 1e-9;
    private static final double WAKING = 3e-4;
    private static final int RANKS = 4;

    /** Time, and until when the collective that was issued last runs. */
    private static final class Clock {
        private double now;
        private double busy;
    }

    @Test
    void aCollectiveHiddenByComputationStillTakesTheTimeItTakesAlone() {
        Clock clock = new Clock();
        check(rows(clock, bytes -> {
            double end = Math.max(clock.now, clock.busy) + duration(bytes);
            clock.busy = end;
            return () -> clock.now = Math.max(clock.now, end);
        }), 0);
    }

    @Test
    void whatComputationAddsToACollectiveCounts() {
        Clock clock = new Clock();
        check(rows(clock, bytes -> {
            boolean awake = clock.now == clock.busy;
            return () -> {
                clock.now += duration(bytes) + (awake ? 0 : WAKING);
                clock.busy = clock.now;
            };
        }), WAKING);
    }

    private static double duration(long bytes) {
        return LATENCY + bytes * SECONDS_PER_BYTE;
    }

    private static void check(List<CollectiveTable.Row> rows, double added) {
        List<CollectiveTable.Row> expected = LongStream.iterate(1 << 16, bytes -> bytes <= 1 << 24, bytes -> 4 * bytes)
            .boxed().flatMap(bytes -> Stream.of("allgather", "allreduce", "reducescatter").map(name ->
                new CollectiveTable.Row(name + "_overlapped", 2, RANKS / 2, bytes, duration(bytes) + added))).toList();
        assertEquals(expected.size(), rows.size());
        for (int i = 0; i < rows.size(); i++) {
            CollectiveTable.Row want = expected.get(i);
            CollectiveTable.Row row = rows.get(i);
            assertEquals(new CollectiveTable.Row(want.operation(), want.nodes(), want.perNode(), want.bytes(), 0),
                new CollectiveTable.Row(row.operation(), row.nodes(), row.perNode(), row.bytes(), 0));
            assertEquals(want.seconds(), row.seconds(), 1e-6 * want.seconds(), row.toString());
        }
    }

    /** Issues a collective of the given bytes; returns what waits for it. */
    private interface Issue {
        Runnable of(long bytes);
    }

    private static List<CollectiveTable.Row> rows(Clock clock, Issue issue) {
        DryRunDevice dry = new DryRunDevice();
        dry.observe((name, _, _, _) -> clock.now += name.equals("copy") ? COMPUTATION : 0);
        Device device = proxy(Device.class, (_, method, arguments) -> method.getName().equals("stopwatch")
            ? new ClockStopwatch(clock) : method.invoke(dry, arguments));
        ProcessGroup group = new ProcessGroup("tp", List.of(0, 1, 2, 3), 1);
        Communicator communicator = proxy(Communicator.class, (_, method, arguments) -> switch (method.getName()) {
            case "group" -> group;
            case "barrier" -> work(() -> clock.now = Math.max(clock.now, clock.busy));
            case "allReduce", "allGather", "reduceScatter" -> work(issue.of(wholeBytes(arguments)));
            default -> throw new UnsupportedOperationException(method.toString());
        });
        OverlappedCollectives collectives = new OverlappedCollectives(device, communicator);
        RepeatedMeasurement.interleave(List.of(collectives));
        return collectives.rows(2);
    }

    private static long wholeBytes(Object... arguments) {
        return Arrays.stream(arguments).filter(Tensor.class::isInstance).mapToLong(each -> ((Tensor) each).bytes())
            .max().orElseThrow();
    }

    private static Work work(Runnable await) {
        return new Work() {
            @Override
            public void await() {
                await.run();
            }

            @Override
            public boolean done() {
                return false;
            }
        };
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, handler));
    }

    /** A stopwatch on the clock. */
    private record ClockStopwatch(Clock clock, List<Double> marks) implements Stopwatch {
        ClockStopwatch(Clock clock) {
            this(clock, new ArrayList<>());
        }

        @Override
        public void mark() {
            marks.add(clock.now);
        }

        @Override
        public double[] laps() {
            return new double[] {marks.getLast() - marks.getFirst()};
        }

        @Override
        public void close() { }
    }
}
