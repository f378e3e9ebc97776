package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.List;

import org.isobar.train.step.BatchLoss;
import org.junit.jupiter.api.Test;

/** Each loss is read once, in order, after the next step has been issued. */
class DeferredLossesTest {
    private final List<String> seen = new ArrayList<>();
    private final LossSum sum = new LossSum(0, 0);
    private final DeferredLosses losses = new DeferredLosses((loss, _) -> Double.isFinite(loss.mean()), sum,
        (step, loss) -> seen.add("step " + step + ": " + loss));

    private void issue(int step, double loss) {
        seen.add("issue " + step);
        losses.add(new DeferredLosses.Issued(step, new int[] {step}, () -> {
            seen.add("ask " + step);
            return new BatchLoss(loss, new double[] {loss, 1});
        }));
    }

    @Test
    void lossIsReadOneStepLater() {
        issue(1, 0.5);
        issue(2, 0.25);
        issue(3, 0.125);
        assertEquals(List.of("issue 1", "issue 2", "ask 1", "step 1: 0.5", "issue 3", "ask 2", "step 2: 0.25"), seen);
        losses.settle();
        losses.settle();
        assertEquals(List.of("ask 3", "step 3: 0.125"), seen.subList(7, seen.size()));
        assertEquals((0.5 + 0.25 + 0.125) / 3, sum.mean());
    }

    @Test
    void skippedLossIsNotAveraged() {
        issue(1, 0.5);
        issue(2, Double.NaN);
        issue(3, 0.25);
        losses.settle();
        assertEquals((0.5 + 0.25) / 2, sum.mean());
        assertEquals(List.of("step 1: 0.5", "step 3: 0.25"), seen.stream().filter(line -> line.startsWith("step"))
            .toList());
    }

    @Test
    void epochOfOneStepHasItsLossAtItsEnd() {
        issue(7, 2);
        assertEquals(List.of("issue 7"), seen);
        losses.settle();
        assertEquals(2, sum.mean());
    }
}
