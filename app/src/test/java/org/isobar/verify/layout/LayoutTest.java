package org.isobar.verify.layout;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import org.isobar.backend.host.ForwardingCommunicator;
import org.isobar.backend.host.GridRanks;
import org.isobar.distributed.Axis;
import org.isobar.distributed.Communicator;
import org.isobar.distributed.ProcessGrid;
import org.isobar.distributed.Reduction;
import org.isobar.distributed.Work;
import org.isobar.model.PatchLinear;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.isobar.vit.VitConfig;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** Compares every layout with one rank. Ranks are threads. */
@Execution(ExecutionMode.CONCURRENT)
class LayoutTest {
    private static final int STEPS = 11; // the last loss is that after ten updates

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
        check(grid("tp-cp-dp", tp, cp, dp), 0, 2);
    }

    /** A batch of one sample uses other collectives over the sequence than a larger batch. */
    @ParameterizedTest
    @CsvSource({"cp-tp-dp, 2, 2, 1, 1", "tp-dp-cp, 2, 2, 2, 1", "dp-cp-tp, 2, 1, 2, 1", "tp-cp-dp, 1, 3, 1, 1",
        "tp-cp-dp, 1, 3, 1, 2", "tp-cp-dp, 1, 5, 1, 2", "cp-tp-dp, 2, 3, 1, 3", "tp-cp-dp, 3, 1, 1, 1",
        "tp-cp-dp, 1, 1, 3, 1"})
    void otherRankOrdersSizesAndBatchesAgree(String order, int tp, int cp, int dp, int batch) throws Exception {
        check(grid(order, tp, cp, dp), 0, batch);
    }

    @ParameterizedTest
    @CsvSource({"tp-cp-dp, 2, 2, 2, 2", "tp-dp-cp, 1, 4, 2, 1", "tp-cp-dp, 4, 1, 1, 2", "cp-tp-dp, 1, 3, 1, 2"})
    void dropoutMasksAgree(String order, int tp, int cp, int dp, int batch) throws Exception {
        check(grid(order, tp, cp, dp), 0.2, batch);
    }

    /** The sequence length of the tutorial: 4050 tokens; 4 ranks have 1013, 1013, 1013 and 1011. */
    @ParameterizedTest
    @CsvSource({"4, 1", "1, 4", "2, 2"})
    void theSequenceOfTheTutorialAgrees(int tp, int cp) throws Exception {
        VitConfig config = new VitConfig(360, 720, 8, 1, 1, 16, 1, 4, 16, 0);
        assertEquals(4050, config.tokens());
        List<LayoutDeviation> results = GridRanks.run(grid("tp-cp-dp", tp, cp, 1), (device, communicators) -> {
            try (ModelComparison models = new ModelComparison(device, communicators, config, 1)) {
                return models.compare(2, 1e-6, 1e-5);
            }
        }).getFirst();
        assertEquals(List.of(), misses(results));
        assertTrue(results.size() > 30, "comparisons: " + results.size());
    }

    /** A model that only the registry knows. */
    @ParameterizedTest
    @CsvSource({"2, 1", "1, 2", "2, 2"})
    void aSecondModelAgrees(int tp, int dp) throws Exception {
        PatchLinear.Spec spec = new PatchLinear.Spec(32, 64, 8, 3, 2);
        List<LayoutDeviation> results = GridRanks.run(grid("tp-cp-dp", tp, 1, dp), (device, communicators) -> {
            try (ModelComparison models = new ModelComparison(device, communicators, spec, 2)) {
                return models.compare(3, 1e-6, 1e-5);
            }
        }).getFirst();
        assertEquals(List.of(), misses(results));
        assertTrue(results.stream().anyMatch(result -> result.what().equals("model: gradient of patch.weight")));
    }

    /** A mistake of the tutorial: gradients of the final norm are not reduced over the context-parallel ranks. */
    @Test
    void aMissingGradientReductionIsFound() throws Exception {
        ProcessGrid grid = grid("tp-cp-dp", 1, 2, 1);
        VitConfig config = LayoutCheck.model(grid, 0);
        List<LayoutDeviation> results = GridRanks.run(grid,
            communicator -> new SkipsTheFinalNorm(communicator, 2L * config.embed()),
            (device, communicators) -> {
                try (ModelComparison models = new ModelComparison(device, communicators, config, 2)) {
                    return models.compare(2, 1e-6, 1e-5);
                }
            }).getFirst();
        List<String> misses = misses(results).stream().map(LayoutDeviation::what).toList();
        assertEquals(List.of("model: gradient of norm.weight", "model: gradient of norm.bias"),
            misses.stream().filter(miss -> miss.contains("gradient")).toList());
        assertTrue(misses.containsAll(List.of("model: loss of step 1", "model: replicas differ after step 0",
            "model: replicas differ after step 1")), misses::toString);
    }

    /** Skips the first weights of the first bucket reduced over cp: backward reaches the final norm first. */
    private static final class SkipsTheFinalNorm extends ForwardingCommunicator {
        private final long skipped; // elements
        private long first = -1;

        SkipsTheFinalNorm(Communicator inner, long skipped) {
            super(inner);
            this.skipped = skipped;
        }

        @Override
        public Work allReduce(Tensor tensor, Reduction reduction) {
            if (tensor.dtype() == DType.F32 && first < 0) {
                first = tensor.offset();
            }
            boolean holdsNorm = tensor.dtype() == DType.F32 && tensor.offset() == first;
            return super.allReduce(holdsNorm ? tensor.slice(skipped, tensor.elements() - skipped) : tensor,
                reduction);
        }
    }

    private static ProcessGrid grid(String order, int tp, int cp, int dp) {
        return ProcessGrid.of(order, Map.of(Axis.TP, tp, Axis.CP, cp, Axis.DP, dp));
    }

    private static void check(ProcessGrid grid, double dropout, int batch) throws Exception {
        List<List<LayoutDeviation>> all = GridRanks.run(grid,
            (device, communicators) -> new LayoutCheck(device, communicators, dropout, batch).run(STEPS));
        List<LayoutDeviation> results = all.getFirst();
        assertEquals(List.of(), misses(results));
        assertTrue(results.size() > 100, "comparisons: " + results.size());
        for (List<LayoutDeviation> others : all) {
            assertEquals(results, others);
        }
    }

    private static List<LayoutDeviation> misses(List<LayoutDeviation> results) {
        return results.stream().filter(result -> !result.isWithinTolerance()).toList();
    }
}
