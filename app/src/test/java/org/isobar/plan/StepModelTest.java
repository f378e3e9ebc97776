package org.isobar.plan;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import java.util.Map;

import org.isobar.distributed.Axis;
import org.isobar.distributed.CollectiveCall.Kind;
import org.isobar.distributed.ProcessGrid;
import org.isobar.plan.cost.CollectiveCosts;
import org.isobar.plan.machine.CollectiveTable;
import org.isobar.plan.machine.Machine;
import org.isobar.plan.machine.MachineFile;
import org.isobar.plan.simulate.Timeline;
import org.isobar.plan.trace.StepEvent;
import org.isobar.plan.trace.StepTrace;
import org.isobar.tensor.DType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Steps of known operations and collectives against closed forms. */
class StepModelTest {
    private static final long BYTES = 1 << 20;
    private static final double NONE = 1e-12;

    private static Timeline simulate(String machine, double operation, double collective, int ranks,
        StepEvent... events) {
        return simulate(machine, operation, List.of(new CollectiveTable.Row("allreduce", 1, ranks, BYTES, collective)),
            ranks, events);
    }

    private static Timeline simulate(String machine, double operation, List<CollectiveTable.Row> collectives, int ranks,
        StepEvent... events) {
        Machine known = MachineFile.load(machine).with(CollectiveTable.of(collectives));
        return new StepModel(_ -> operation, new CollectiveCosts(known), ranks, 0).simulate(
            ProcessGrid.of("tp-dp", Map.of(Axis.TP, ranks)), List.of(new StepTrace(List.of(events))));
    }

    private static StepEvent operation() {
        return new StepEvent.Operation("linear", StepEvent.Work.PRODUCT, DType.F32, List.of(1L, 1L, 1L), 1, 1,
            StepEvent.Phase.FORWARD, 1);
    }

    private static StepEvent allReduce(int number) {
        return new StepEvent.Issue(number, "tp", Kind.ALL_REDUCE, BYTES, true, StepEvent.Phase.FORWARD);
    }

    /** A GPU computes while its collective runs, the longer of both counts; on a CPU both take the cores. */
    @ParameterizedTest
    @CsvSource({
        "perlmutter-a100-40, 3, 2, 6",
        "perlmutter-a100-40, 3, 5, 8",
        "cpu-2-cores, 3, 2, 8",
        "cpu-2-cores, 3, 5, 11"})
    void collectivesOverlapComputationOnlyOnAGpu(String machine, double operation, double collective, double step) {
        Timeline timeline = simulate(machine, operation, collective, 2, operation(), allReduce(0), operation(),
            new StepEvent.Await(0));
        assertEquals(step, timeline.end(), NONE);
        assertEquals(2 * operation, timeline.computation().get("products"), NONE);
        assertEquals(step - 2 * operation, timeline.exposed().getOrDefault("tp", 0.0), NONE);
    }

    /** What a collective adds to computation is counted where there is computation before the wait for it. */
    @ParameterizedTest
    @CsvSource({
        "perlmutter-a100-40, 16",
        "cpu-2-cores, 22"})
    void onACpuACollectiveBesideComputationTakesWhatItAdds(String machine, double step) {
        List<CollectiveTable.Row> collectives = List.of(new CollectiveTable.Row("allreduce", 1, 2, BYTES, 5),
            new CollectiveTable.Row("allreduce_overlapped", 1, 2, BYTES, 6));
        Timeline timeline = simulate(machine, 3, collectives, 2, allReduce(0), allReduce(1), new StepEvent.Await(0),
            new StepEvent.Await(1), allReduce(2), operation(), operation(), new StepEvent.Await(2));
        assertEquals(step, timeline.end(), NONE);
    }

    /** Of 12 ranks on nodes of four, cp 3 has groups within a node and groups on two nodes, for which all wait. */
    @Test
    void theGroupThatCrossesNodesCounts() {
        Machine machine = MachineFile.load("perlmutter-a100-40").with(CollectiveTable.of(List.of(
            new CollectiveTable.Row("allreduce", 1, 3, BYTES, 1),
            new CollectiveTable.Row("allreduce", 2, 2, BYTES, 5))));
        Timeline timeline = new StepModel(_ -> 0, new CollectiveCosts(machine), 4, 0).simulate(
            ProcessGrid.of("cp-dp", Map.of(Axis.CP, 3, Axis.DP, 4)), List.of(new StepTrace(List.of(
                new StepEvent.Issue(0, "cp", Kind.ALL_REDUCE, BYTES, true, StepEvent.Phase.FORWARD),
                new StepEvent.Await(0)))));
        assertEquals(5, timeline.end(), NONE);
    }
}
