package org.isobar.optim;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** The schedules against PyTorch's numbers. */
class LearningRateScheduleTest {

    @Test
    void cosineMatchesPyTorch() {
        LearningRateSchedule schedule = new LearningRateSchedule.Cosine(1e-3, 20, 0);
        double[] expected = {1e-3, 9.938441703e-4, 9.755282581e-4, 9.455032621e-4, 9.045084972e-4};
        for (int i = 0; i < expected.length; i++) {
            assertEquals(expected[i], schedule.at(i), 1e-12);
        }
        assertEquals(0, schedule.at(20), 1e-18);
    }

    @Test
    void warmupIsTheSmallerOfLineAndCosine() {
        LearningRateSchedule schedule = new LearningRateSchedule.Cosine(1, 10, 4);
        assertEquals(0.25, schedule.at(0));
        assertEquals(0.75, schedule.at(2));
        assertEquals(0.5 * (1 + Math.cos(Math.PI * 0.3)), schedule.at(3), 1e-15);
        assertEquals(0.5 * (1 + Math.cos(Math.PI * 0.7)), schedule.at(7), 1e-15);
    }

    @Test
    void constantStays() {
        assertEquals(0.5, new LearningRateSchedule.Constant(0.5).at(1_000_000));
    }
}
