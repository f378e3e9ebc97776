package org.isobar.distributed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import org.isobar.backend.host.HostTensors;
import org.isobar.backend.host.InProcessCommunicator;
import org.isobar.backend.host.InProcessHub;
import org.isobar.distributed.GradientBuckets.Range;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Test;

/** Division of gradients into buckets, start of their reductions, and results. */
class GradientBucketsTest {
    private static final Set<Axis> DP = Set.of(Axis.DP);
    private static final Set<Axis> CP = Set.of(Axis.CP);
    private static final Set<Axis> BOTH = Set.of(Axis.DP, Axis.CP);
    private static final double TEN_FLOATS = 40 / 1024.0 / 1024.0;

    @Test
    void bucketsEndAtTheCapAtAGapAndWhereTheReductionChanges() throws Exception {
        ranks(2, 2, communicators -> {
            assertEquals(3, size(communicators, range(0, 4, DP), range(4, 6, DP), range(10, 1, DP), range(11, 99, DP)));
            assertEquals(1, size(communicators, range(6, 4, DP), range(0, 6, DP)));
            assertEquals(2, size(communicators, range(0, 4, DP), range(5, 4, DP)));
            assertEquals(4, size(communicators, range(0, 1, DP), range(1, 1, BOTH), range(2, 1, CP), range(3, 1, DP)));
            assertEquals(0, size(communicators));
            return null;
        });
    }

    private static int size(Communicators communicators, Range... ranges) {
        return new GradientBuckets(HostTensors.of(DType.F32, 110, i -> 0), List.of(ranges), TEN_FLOATS, communicators)
            .size();
    }

    private static Range range(long offset, long length, Set<Axis> over) {
        return new Range(offset, length, over);
    }

    @Test
    void sumsOverAllAxesOfARange() throws Exception {
        List<double[]> reduced = ranks(2, 2, communicators -> {
            int dp = communicators.coordinate(Axis.DP);
            int cp = communicators.coordinate(Axis.CP);
            Tensor flat = HostTensors.of(DType.F32, 8, i -> 1 + dp * 10 + cp * 100);
            GradientBuckets buckets = new GradientBuckets(flat, List.of(range(6, 2, Set.of()), range(4, 2, DP),
                range(2, 2, CP), range(0, 2, BOTH)), 25, communicators);
            for (int i = 0; i < 4; i++) {
                buckets.ready(i);
            }
            buckets.await();
            return HostTensors.values(flat);
        });
        for (int dp = 0; dp < 2; dp++) {
            for (int cp = 0; cp < 2; cp++) {
                double own = 1 + dp * 10 + cp * 100;
                double overDp = 12 + cp * 200;
                double overCp = 102 + dp * 20;
                assertArrayEquals(new double[] {224, 224, overCp, overCp, overDp, overDp, own, own},
                    reduced.get(dp * 2 + cp));
            }
        }
    }

    @Test
    void reducesAgainAfterEachStep() throws Exception {
        ranks(2, 1, communicators -> {
            Tensor flat = HostTensors.of(DType.F64, 4, i -> communicators.coordinate(Axis.DP));
            GradientBuckets buckets =
                new GradientBuckets(flat, List.of(range(2, 2, DP), range(0, 2, DP)), 1e-5, communicators);
            assertEquals(2, buckets.size());
            for (int step = 0; step < 3; step++) {
                double sum = 1 << step;
                buckets.ready(0);
                assertThrows(IllegalStateException.class, () -> buckets.ready(0));
                assertThrows(IllegalStateException.class, buckets::await);
                buckets.ready(1);
                buckets.await();
                assertArrayEquals(new double[] {sum, sum, sum, sum}, HostTensors.values(flat));
            }
            return null;
        });
    }

    /** Backward is incomplete until {@code ready} is called for the last range. */
    @Test
    void bucketsAreReducedInOrderWhileBackwardGoesOn() throws Exception {
        ranks(2, 1, communicators -> {
            int own = 1 + communicators.coordinate(Axis.DP);
            Tensor flat = HostTensors.of(DType.F32, 60, i -> own);
            GradientBuckets buckets = new GradientBuckets(flat, List.of(range(50, 10, DP), range(45, 5, DP),
                range(40, 5, DP), range(0, 40, DP)), TEN_FLOATS, communicators);
            assertEquals(3, buckets.size());
            buckets.ready(2);
            buckets.ready(0);
            awaitReduced(flat.slice(50, 10));
            assertEquals(own, HostTensors.values(flat)[44]);
            buckets.ready(1);
            awaitReduced(flat.slice(40, 10));
            assertEquals(own, HostTensors.values(flat)[39]);
            buckets.ready(3);
            buckets.await();
            assertTrue(Arrays.stream(HostTensors.values(flat)).allMatch(value -> value == 3));
            return null;
        });
    }

    /** Polls the values, which only the reduction changes. */
    private static void awaitReduced(Tensor tensor) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (Arrays.stream(HostTensors.values(tensor)).anyMatch(value -> value != 3)) {
            assertTrue(System.nanoTime() < deadline, "not reduced before backward has ended");
            Thread.sleep(1);
        }
    }

    private static <T> List<T> ranks(int dp, int cp, Body<T> body) throws Exception {
        ProcessGrid grid = ProcessGrid.fit("cp-dp", dp * cp, 1, cp, 1);
        InProcessHub hub = new InProcessHub(Duration.ofSeconds(20));
        try (var threads = Executors.newCachedThreadPool()) {
            List<Future<T>> futures = new ArrayList<>();
            for (int i = 0; i < dp * cp; i++) {
                int rank = i;
                futures.add(threads.submit(() -> {
                    try (Communicators communicators = new Communicators(grid, rank, (y, x) -> { }, group ->
                        InProcessCommunicator.open(hub, group))) {
                        return body.run(communicators);
                    }
                }));
            }
            List<T> results = new ArrayList<>();
            for (Future<T> future : futures) {
                results.add(future.get(30, TimeUnit.SECONDS));
            }
            return results;
        }
    }

    /** Work of one rank. */
    @FunctionalInterface
    private interface Body<T> {
        /** Runs on the thread of the rank. */
        T run(Communicators communicators) throws Exception;
    }
}
