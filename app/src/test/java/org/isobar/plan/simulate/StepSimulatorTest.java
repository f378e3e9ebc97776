package org.isobar.plan.simulate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import org.isobar.plan.simulate.TimedEvent.Await;
import org.isobar.plan.simulate.TimedEvent.Compute;
import org.isobar.plan.simulate.TimedEvent.Issue;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The simulator against closed forms. Durations are sums of powers of two, so results are exact. */
class StepSimulatorTest {
    private static Timeline alone(TimedEvent... events) {
        return StepSimulator.run(List.of(new SimulatedRank(List.of(events), Map.of()))).getFirst();
    }

    @Test
    void aStepWithoutCommunicationIsTheSumOfItsOperations() {
        assertEquals(3.75, alone(new Compute("a", 1), new Compute("b", 2.5), new Compute("a", 0.25)).end());
    }

    /** Waiting at once exposes the whole collective: sum of both. */
    @Test
    void withoutOverlapBothAddUp() {
        Timeline step = alone(new Compute("a", 1), new Issue(0, "tp", 2), new Await(0), new Compute("a", 4));
        assertEquals(7, step.end());
        assertEquals(Map.of("tp", 2.0), step.exposed());
        assertEquals(Map.of("a", 5.0), step.computation());
    }

    /** Work between issue and wait hides the collective: the larger of both. */
    @ParameterizedTest
    @CsvSource({"2, 8, 0", "8, 2, 6", "4, 4, 0"})
    void withOverlapTheLongerCounts(double communication, double work, double exposed) {
        Timeline step = alone(new Issue(0, "dp", communication), new Compute("a", work), new Await(0));
        assertEquals(Math.max(communication, work), step.end());
        assertEquals(exposed, step.exposed().getOrDefault("dp", 0.0));
    }

    /** Layer i ends at (i + 1) c; n buckets of r each end at c + n r if r >= c, at n c + r if not. */
    @ParameterizedTest
    @CsvSource({"1, 4, 8", "4, 1, 8", "2, 2, 5"})
    void bucketsRunBesideBackward(double layer, double bucket, int layers) {
        List<TimedEvent> events = new ArrayList<>();
        for (int i = 0; i < layers; i++) {
            events.add(new Compute("layer", layer));
            events.add(new Issue(i, "dp", bucket));
        }
        for (int i = 0; i < layers; i++) {
            events.add(new Await(i));
        }
        double expected = bucket >= layer ? layer + layers * bucket : layers * layer + bucket;
        assertEquals(expected, alone(events.toArray(TimedEvent[]::new)).end());
    }

    /** A ring of n - 1 steps: the neighbour's block arrives while the own one is processed; the longer counts. */
    @ParameterizedTest
    @CsvSource({"4, 1, 2", "4, 2, 1", "8, 0.5, 0.5"})
    void aRingOverlapsEachHop(int ranks, double hop, double block) {
        List<TimedEvent> events = new ArrayList<>();
        for (int i = 0; i < ranks; i++) {
            if (i < ranks - 1) {
                events.add(new Issue(i, "cp", hop));
            }
            events.add(new Compute("block", block));
            if (i < ranks - 1) {
                events.add(new Await(i));
            }
        }
        assertEquals((ranks - 1) * Math.max(hop, block) + block, alone(events.toArray(TimedEvent[]::new)).end());
    }

    /** Streams of two communicators run at the same time. */
    @Test
    void communicatorsDoNotWaitForEachOther() {
        assertEquals(4, alone(new Issue(0, "tp", 3), new Issue(1, "dp", 4), new Await(0), new Await(1)).end());
        assertEquals(7, alone(new Issue(0, "tp", 3), new Issue(1, "tp", 4), new Await(0), new Await(1)).end());
    }

    /** All members of a group wait for the slowest before each of n collectives. */
    @Test
    void oneSlowRankDelaysItsGroup() {
        List<SimulatedRank> ranks = new ArrayList<>();
        for (double work : new double[] {1, 1, 3}) {
            List<TimedEvent> events = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                events.addAll(List.of(new Compute("a", work), new Issue(i, "tp", 0.5), new Await(i)));
            }
            ranks.add(new SimulatedRank(events, Map.of("tp", List.of(0, 1, 2))));
        }
        List<Timeline> steps = StepSimulator.run(ranks);
        for (Timeline step : steps) {
            assertEquals(4 * 3.5, step.end());
        }
        assertEquals(4 * 2.5, steps.getFirst().exposed().get("tp"));
        assertEquals(4 * 0.5, steps.getLast().exposed().get("tp"));
    }

    @Test
    void aCollectiveThatAPeerDoesNotIssueIsAnError() {
        Map<String, List<Integer>> groups = Map.of("tp", List.of(0, 1));
        assertThrows(IllegalArgumentException.class, () -> StepSimulator.run(List.of(
            new SimulatedRank(List.of(new Issue(0, "tp", 1), new Await(0)), groups),
            new SimulatedRank(List.of(), groups))));
    }
}
