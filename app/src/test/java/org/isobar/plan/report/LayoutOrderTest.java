package org.isobar.plan.report;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;

import org.junit.jupiter.api.Test;

/** Which pairs of layouts are predicted in the order in which they were measured. */
class LayoutOrderTest {
    private static Comparison speed(double predicted, double measured) {
        return new Comparison("a layout", "samples/s", predicted, measured);
    }

    /** Speeds that differ by at most 15 % and those of different models are not compared. */
    @Test
    void onlyClearDifferencesOfOneModelCount() {
        List<Comparison> demo = List.of(speed(10, 100), speed(20, 110), speed(30, 200));
        List<Comparison> larger = List.of(speed(3, 10), speed(2, 20));
        assertEquals("order of 2 of 3 pairs right", ValidationTable.order(List.of(demo, larger)));
    }
}
