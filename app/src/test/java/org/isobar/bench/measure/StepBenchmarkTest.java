package org.isobar.bench.measure;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;

import org.isobar.backend.cpu.CpuDevice;
import org.isobar.backend.host.GridRanks;
import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.RunConfig;
import org.isobar.device.Device;
import org.isobar.distributed.Axis;
import org.isobar.distributed.ProcessGrid;
import org.isobar.fault.UserException;
import org.isobar.tensor.DType;
import org.isobar.train.memory.MemoryPlan;
import org.junit.jupiter.api.Test;

/** Runs the step benchmark of preset {@code tiny} on the CPU. */
class StepBenchmarkTest {
    private static final int STEPS = 2;

    @Test
    void measuresTheStepAndEachOperation() {
        List<StepResult> partial = new ArrayList<>();
        StepResult result = run(Timing.MEASURED, partial);
        assertEquals(STEPS, result.stepSeconds().count());
        assertTrue(result.stepSeconds().low() > 0, result.stepSeconds()::toString);
        assertTrue(result.losses().get(2) < result.losses().get(0), result.losses()::toString);
        assertEquals(MemoryPlan.of(tiny().model(), 2, DType.F32).stepFlops(), result.flops());
        assertEquals(result.flops(),
            result.operations().stream().mapToDouble(OperationGroup::flops).sum(), 1e-9 * result.flops());
        for (OperationGroup group : result.operations()) {
            assertTrue(group.seconds() > 0 && (group.bytes() > 0 || group.name().equals("advance")), group::toString);
        }
        assertEquals(List.of(List.of(), result.losses()), partial.stream().map(StepResult::losses).toList());
    }

    /** The model has 2 blocks, each with 3 products in attention (one for keys and values) and 2 in the MLP. */
    @Test
    void operationsAreGroupedByPhase() {
        List<OperationGroup> groups = run(Timing.REHEARSED, new ArrayList<>()).operations();
        assertEquals(1 + 2 * 4, calls(groups, "linear + Bias", StepOperation.Phase.FORWARD));
        assertEquals(2, calls(groups, "linear + BiasGelu", StepOperation.Phase.FORWARD));
        assertEquals(2, calls(groups, "attention", StepOperation.Phase.FORWARD));
        assertEquals(2, calls(groups, "attentionBackward", StepOperation.Phase.BACKWARD));
        assertEquals(2 * 4, calls(groups, "linearBackwardParameters", StepOperation.Phase.BACKWARD));
        assertEquals(2 + 2, calls(groups, "linearBackwardWeight", StepOperation.Phase.BACKWARD)); // fc1, both ends
        assertEquals(1, calls(groups, "patchify", StepOperation.Phase.FORWARD));
        assertEquals(1, calls(groups, "adam", StepOperation.Phase.UPDATE));
    }

    @Test
    void rehearsalHasNoTimes() {
        StepResult result = run(Timing.REHEARSED, new ArrayList<>());
        assertNull(result.stepSeconds());
        assertTrue(result.operations().stream().allMatch(group -> group.seconds() == null));
        assertEquals(3, result.losses().size());
    }

    @Test
    void tooFewStepsForTheLossesAreRefused() {
        UserException refused = assertThrows(UserException.class,
            () -> new StepBenchmark.Plan(1, 1, Timing.MEASURED, StepBenchmark.Detail.STEPS));
        assertTrue(refused.getMessage().startsWith("--warmup_steps and --steps must be at least 1 each and 3"),
            refused.getMessage());
    }

    /** Ranks that share tokens have all weights, so their steps are those of one process. */
    @Test
    void ranksThatShareTokensHaveTheLossesOfOneProcess() throws Exception {
        StepBenchmark.Plan plan = new StepBenchmark.Plan(2, 1, Timing.MEASURED, StepBenchmark.Detail.STEPS);
        List<Double> alone;
        try (Device device = new CpuDevice(1)) {
            alone = new StepBenchmark(tiny(), device, plan).run(_ -> { }).losses();
        }
        List<List<Double>> losses = GridRanks.run(ProcessGrid.of("tp-cp-dp", Map.of(Axis.CP, 2)),
            (device, job) -> new StepBenchmark(tiny(job.rank()), device, job, plan).run(_ -> { }).losses());
        assertEquals(losses.getFirst(), losses.getLast());
        for (int step = 0; step < 3; step++) {
            assertEquals(alone.get(step), losses.getFirst().get(step), 1e-6);
        }
    }

    @Test
    void operationsOfSeveralRanksAreRefused() {
        ExecutionException failure = assertThrows(ExecutionException.class, () -> GridRanks.run(
            ProcessGrid.of("tp-cp-dp", Map.of(Axis.CP, 2)), (device, job) -> new StepBenchmark(tiny(job.rank()),
                device, job, new StepBenchmark.Plan(2, 1, Timing.MEASURED, StepBenchmark.Detail.OPERATIONS))));
        assertEquals("operations are measured in one process", failure.getCause().getMessage());
    }

    private static int calls(List<OperationGroup> groups, String name, StepOperation.Phase phase) {
        return groups.stream().filter(group -> group.name().equals(name) && group.phase() == phase)
            .mapToInt(OperationGroup::calls).sum();
    }

    private static StepResult run(Timing timing, List<StepResult> partial) {
        try (Device device = new CpuDevice(1)) {
            return new StepBenchmark(tiny(), device, new StepBenchmark.Plan(2, STEPS, timing,
                StepBenchmark.Detail.OPERATIONS)).run(partial::add);
        }
    }

    private static RunConfig tiny() {
        return ConfigLoader.load(request(Map.of()));
    }

    /** The configuration of one of two ranks that share tokens. */
    private static RunConfig tiny(int rank) {
        return ConfigLoader.load(request(GridRanks.environment(rank, 2)).with("context_parallel", "2"));
    }

    private static ConfigRequest request(Map<String, String> environment) {
        return new ConfigRequest(Path.of("..", "config", "ViT.yaml"), "tiny", environment);
    }
}
