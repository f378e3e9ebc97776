package org.isobar.verify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.backend.host.InProcessHub;
import org.isobar.device.Device;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicators;
import org.isobar.distributed.ProcessGrid;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Every layout against one rank, with ranks as threads. */
class LayoutTest {

    /** All factorizations of 1, 2, 4 and 8 ranks into tp x cp x dp. */
    static Stream<Arguments> layouts() {
        List<Arguments> layouts = new ArrayList<>();
        for (int world : new int[] {1, 2, 4, 8}) {
            for (int tp = 1; tp <= world; tp *= 2) {
                for (int cp = 1; tp * cp <= world; cp *= 2) {
                    layouts.add(Arguments.of(tp, cp, world / tp / cp));
                }
            }
        }
        assertEquals(20, layouts.size());
        return layouts.stream();
    }

    @ParameterizedTest
    @MethodSource("layouts")
    void agreesWithOneRank(int tp, int cp, int dp) throws Exception {
        check("tp-cp-dp", tp, cp, dp, 0);
    }

    @ParameterizedTest
    @CsvSource({"cp-tp-dp, 2, 2, 1, 0", "dp-cp-tp, 2, 1, 2, 0", "tp-cp-dp, 1, 3, 1, 0", "tp-cp-dp, 2, 2, 2, 0.2",
        "tp-dp-cp, 1, 4, 2, 0.2", "tp-cp-dp, 4, 1, 1, 0.2"})
    void otherOrdersAndDropout(String order, int tp, int cp, int dp, double dropout) throws Exception {
        check(order, tp, cp, dp, dropout);
    }

    private static void check(String order, int tp, int cp, int dp, double dropout) throws Exception {
        ProcessGrid grid = ProcessGrid.of(order, Map.of(Axis.TP, tp, Axis.CP, cp, Axis.DP, dp));
        List<List<LayoutCheck.Result>> all = onEachRank(grid,
            (device, communicators) -> new LayoutCheck(device, communicators, dropout).run(10));
        List<LayoutCheck.Result> results = all.getFirst();
        assertEquals(List.of(), results.stream().filter(result -> !result.holds()).toList());
        assertTrue(results.size() > 100, "comparisons: " + results.size());
        assertEquals(results, all.getLast());
    }

    /** Work of one rank. */
    interface RankWork<T> {
        T run(Device device, Communicators communicators) throws Exception;
    }

    static <T> List<T> onEachRank(ProcessGrid grid, RankWork<T> work) throws Exception {
        InProcessHub hub = new InProcessHub(Duration.ofSeconds(60));
        try (ExecutorService ranks = Executors.newFixedThreadPool(grid.worldSize())) {
            List<Callable<T>> tasks = new ArrayList<>();
            for (int rank = 0; rank < grid.worldSize(); rank++) {
                int mine = rank;
                tasks.add(() -> {
                    try (Device device = new CpuDevice(1);
                        Communicators communicators = new Communicators(grid, mine, device.ops()::copy, hub::open)) {
                        return work.run(device, communicators);
                    }
                });
            }
            List<T> results = new ArrayList<>();
            for (Future<T> future : ranks.invokeAll(tasks)) {
                results.add(future.get());
            }
            return results;
        }
    }
}
