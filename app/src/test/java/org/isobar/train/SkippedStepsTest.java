package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Optional;

import org.isobar.optim.Adam;
import org.junit.jupiter.api.Test;

/** Tests the log lines about skipped steps. */
class SkippedStepsTest {
    @Test
    void epochLogsItsSkippedStepsAndRunLogsAll() {
        SkippedSteps steps = new SkippedSteps(new Adam.Progress(0, 0, 65536));
        assertEquals(Optional.of("Gradients overflowed: 2 of 12 steps skipped, the loss scale is 16384.0"),
            steps.epoch(new Adam.Progress(10, 2, 16384)));
        assertEquals(Optional.empty(), steps.epoch(new Adam.Progress(22, 2, 16384)));
        assertEquals(Optional.of("Gradients overflowed: 1 of 12 steps skipped, the loss scale is 8192.0"),
            steps.epoch(new Adam.Progress(33, 3, 8192)));
        assertEquals(Optional.of("Gradients overflowed: 3 of 36 steps in total skipped, the loss scale is 8192.0"),
            steps.total());
    }

    /** Without a loss scale, a loss may be the cause (--on_nan=skip). */
    @Test
    void withoutALossScaleItIsNotNamed() {
        assertEquals(Optional.of("Losses or gradients were not finite: 1 of 12 steps skipped"),
            new SkippedSteps(new Adam.Progress(0, 0, 1)).epoch(new Adam.Progress(11, 1, 1)));
    }

    @Test
    void nothingIsLoggedWithoutSkippedSteps() {
        SkippedSteps steps = new SkippedSteps(new Adam.Progress(0, 0, 65536));
        assertEquals(Optional.empty(), steps.epoch(new Adam.Progress(12, 0, 65536)));
        assertEquals(Optional.empty(), steps.total());
    }
}
