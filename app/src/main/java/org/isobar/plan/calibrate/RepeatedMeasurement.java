package org.isobar.plan.calibrate;

import java.util.List;

/**
 * A measurement that is repeated in rounds. Those of different measurements alternate, because the speed of a machine
 * changes within minutes.
 */
interface RepeatedMeasurement {
    /** Number of rounds. */
    int ROUNDS = 5;

    /** Runs what does not count. */
    void warmUp();

    /** Measures once more. */
    void round();

    /** Runs all rounds of several measurements in turn, after their warm-up. */
    static void interleave(List<? extends RepeatedMeasurement> measurements) {
        measurements.forEach(RepeatedMeasurement::warmUp);
        for (int round = 0; round < ROUNDS; round++) {
            measurements.forEach(RepeatedMeasurement::round);
        }
    }
}
