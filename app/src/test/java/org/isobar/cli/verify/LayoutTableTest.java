package org.isobar.cli.verify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;

import org.isobar.verify.layout.LayoutDeviation;
import org.junit.jupiter.api.Test;

/** The table of {@code isobar verify} on several processes. */
class LayoutTableTest {
    private static final LayoutDeviation OUTPUT = new LayoutDeviation("mlp: output", 2.5e-7, 1e-5);
    private static final LayoutDeviation GRADIENT = new LayoutDeviation("mlp: gradient of fc1.bias", 0.02, 1e-5);
    private static final LayoutDeviation SAME = new LayoutDeviation("model: replicas differ", 0, 0);

    @Test
    void groupsAndMarksWhatFails() {
        StringWriter out = new StringWriter();
        new LayoutTable(List.of(OUTPUT, GRADIENT, SAME)).print(new PrintWriter(out));
        assertEquals("""
              ||difference|| / ||whole||  error    allowed
            mlp
              output                      2.5e-07  1.0e-05  ok
              gradient of fc1.bias        2.0e-02  1.0e-05  FAILED
            model
              replicas differ             0        0        ok
            3 comparisons, 1 failed
            """, out.toString());
    }

    @Test
    void holdsIfEveryComparisonDoes() {
        assertTrue(new LayoutTable(List.of(OUTPUT, SAME)).holds());
        assertFalse(new LayoutTable(List.of(OUTPUT, GRADIENT)).holds());
        assertFalse(new LayoutTable(List.of(new LayoutDeviation("mlp: output", Double.NaN, 1))).holds());
    }
}
