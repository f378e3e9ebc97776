package org.isobar.plan.report;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;

import org.junit.jupiter.api.Test;

/** Predictions beside measurements. */
class ComparisonTest {
    @Test
    void roundsHaveTheMedianOfTheirPredictionsAndThatOfTheirMeasurements() {
        List<Comparison> medians = Comparison.medians(List.of(
            List.of(new Comparison("a", "ms", 10, 8), new Comparison("b", "s", 1, 1)),
            List.of(new Comparison("a", "ms", 30, 9), new Comparison("b", "s", 2, 4)),
            List.of(new Comparison("a", "ms", 12, 20), new Comparison("b", "s", 7, 5))));
        assertEquals(List.of(new Comparison("a", "ms", 12, 9), new Comparison("b", "s", 2, 4)), medians);
        assertEquals("mean 41.7 %, worst 50.0 %", Comparison.spread(medians));
    }
}
