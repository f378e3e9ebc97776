package org.isobar.plan.trace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

import org.isobar.distributed.Axis;
import org.isobar.distributed.CollectiveCall.Kind;
import org.isobar.distributed.ProcessGrid;
import org.isobar.nn.Recompute;
import org.isobar.tensor.DType;
import org.isobar.train.memory.MemoryPlan;
import org.isobar.train.step.GradientSync;
import org.isobar.train.step.StepOptions;
import org.isobar.vit.VitConfig;
import org.junit.jupiter.api.Test;

/** Traces of Isobar's and of the tutorial's steps. */
class DryStepTest {
    private static final int DEPTH = 3;
    private static final VitConfig MODEL = new VitConfig(16, 32, 4, 3, 3, 32, DEPTH, 4, 128, 0, Recompute.NONE);
    private static final int BATCH = 2;

    private static DryStep step(int tp, int cp, int dp, int rank) {
        return DryStep.of(MODEL, BATCH, StepOptions.of(DType.F32, GradientSync.Options.DEFAULT), grid(tp, cp, dp),
            rank);
    }

    private static ProcessGrid grid(int tp, int cp, int dp) {
        return ProcessGrid.of(ProcessGrid.DEFAULT_ORDER, Map.of(Axis.TP, tp, Axis.CP, cp, Axis.DP, dp));
    }

    /** The memory is that of the plan that a run allocates its arenas from, to the byte. */
    @Test
    void memoryAndWorkAreThoseOfTheMemoryPlan() {
        for (int[] sizes : new int[][] {{1, 1, 1}, {2, 1, 2}, {1, 3, 1}, {2, 2, 1}, {4, 2, 2}}) {
            ProcessGrid grid = grid(sizes[0], sizes[1], sizes[2]);
            for (int rank : new int[] {0, grid.worldSize() - 1}) {
                DryStep step = step(sizes[0], sizes[1], sizes[2], rank);
                MemoryPlan plan = MemoryPlan.of(MODEL, BATCH, grid, rank);
                assertEquals(plan, step.memory());
                assertEquals(plan.stepFlops(), step.trace().flops());
            }
        }
    }

    @Test
    void oneProcessCommunicatesNothing() {
        DryStep step = step(1, 1, 1, 0);
        assertEquals(0, step.trace().collectives().count());
        assertEquals(0, step.groups().count());
    }

    /** Tensor parallelism: two all-reduces of the stream in forward and two in backward of each block. */
    @Test
    void collectivesAreThoseOfTheLayout() {
        StepTrace trace = step(2, 1, 1, 0).trace();
        List<StepEvent.Issue> stream = trace.collectives().filter(issue -> issue.kind() == Kind.ALL_REDUCE
            && issue.bytes() == (long) BATCH * MODEL.tokens() * MODEL.embed() * Float.BYTES).toList();
        assertEquals(4 * DEPTH, stream.size());
        StepTrace cut = step(1, 3, 1, 0).trace(); // 32 tokens: 11, 11, 10
        assertTrue(cut.collectives().anyMatch(issue -> issue.kind() == Kind.ALL_GATHER && !issue.even()));
        assertEquals(DEPTH, cut.collectives().filter(issue -> issue.kind() == Kind.REDUCE_SCATTER).count());
    }

    @Test
    void everyCollectiveIsAwaitedOnce() {
        StepTrace trace = step(2, 2, 2, 0).trace();
        Set<Integer> open = new HashSet<>();
        for (StepEvent event : trace.events()) {
            switch (event) {
                case StepEvent.Issue issue -> assertTrue(open.add(issue.number()));
                case StepEvent.Await await -> assertTrue(open.remove(await.number()));
                case StepEvent.Operation operation -> assertTrue(operation.bytes() > 0 || operation.flops() == 0);
            }
        }
        assertEquals(Set.of(), open);
    }

    /** Micro-batches repeat forward and backward; gradients are reduced and weights updated once. */
    @Test
    void microBatchesReduceGradientsOnce() {
        StepTrace one = step(2, 2, 2, 0).trace();
        StepTrace three = one.accumulated(3);
        assertEquals(3 * one.flops(), three.flops());
        assertEquals(count(one, "dp"), count(three, "dp"));
        assertEquals(3 * count(one, "tp"), count(three, "tp"));
        assertEquals(three.collectives().count(), three.collectives().map(StepEvent.Issue::number).distinct().count());
        assertEquals(1, three.operations().filter(operation -> operation.name().equals("adam")).count());
    }

    /** A device without a product that sums the bias's gradient reads the layer's gradient once more. */
    @Test
    void gradientsOfParametersCanBeSeparate() {
        StepTrace together = step(1, 1, 1, 0).trace();
        StepTrace separate = together.separated();
        assertEquals(together.flops(), separate.flops());
        long layers = operations(together, "linearBackwardParameters").count();
        assertTrue(layers >= 2 * DEPTH);
        assertEquals(0, operations(separate, "linearBackwardParameters").count());
        assertEquals(operations(together, "linearBackwardWeight").count() + layers,
            operations(separate, "linearBackwardWeight").count());
        double values = (double) BATCH * MODEL.tokens() * 2 * MODEL.embed(); // of keys and values
        StepEvent.Operation sums = operations(separate, "biasBackward").filter(operation ->
            operation.extents().equals(List.of(1L, 2L * MODEL.embed()))).findFirst().orElseThrow();
        assertEquals(StepEvent.Work.MEMORY, sums.work());
        assertEquals(Float.BYTES * (values + 2 * 2 * MODEL.embed()), sums.bytes());
        assertEquals(Float.BYTES * operations(together, "linearBackwardParameters").mapToDouble(operation ->
            operation.repeats() * (double) operation.extents().get(0) * operation.extents().get(2)).sum(),
            bytes(separate) - bytes(together));
    }

    private static Stream<StepEvent.Operation> operations(StepTrace trace, String name) {
        return trace.operations().filter(operation -> operation.name().equals(name));
    }

    private static double bytes(StepTrace trace) {
        return trace.operations().mapToDouble(operation -> operation.repeats() * operation.bytes()).sum();
    }

    private static long count(StepTrace trace, String group) {
        return trace.collectives().filter(issue -> issue.group().equals(group)).count();
    }

    /** The tutorial's operations: the products of the model, twice as many floating-point operations in backward. */
    @Test
    void theTutorialsProductsAreTheModels() {
        double tokens = (double) BATCH * MODEL.tokens();
        double weights = DEPTH * 12.0 * MODEL.embed() * MODEL.embed();
        double head = 16.0 * 3 * MODEL.embed();
        StepTrace whole = TutorialStep.of(MODEL, new TutorialStep.Layout(1, 1, 1, BATCH, true, true));
        assertEquals(6 * tokens * (weights + head), gemms(whole));
        StepTrace cut = TutorialStep.of(MODEL, new TutorialStep.Layout(2, 1, 1, BATCH, true, true));
        assertEquals(6 * tokens * (weights / 2 + head), gemms(cut));
        assertEquals(6 * DEPTH, cut.collectives().count());
    }

    private static double gemms(StepTrace trace) {
        return trace.operations().filter(operation -> operation.name().equals("gemm"))
            .mapToDouble(StepEvent.Operation::flops).sum();
    }
}
