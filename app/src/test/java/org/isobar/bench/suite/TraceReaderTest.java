package org.isobar.bench.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.util.List;

import org.isobar.bench.measure.Timing;
import org.isobar.bench.measure.TrainingTrace;
import org.isobar.os.ProcessMemory;
import org.isobar.telemetry.TutorialLines;
import org.junit.jupiter.api.Test;

/** Reads logs in the format of {@code isobar train}. */
class TraceReaderTest {
    private static final String STAMP = "2026-01-01 00:00:00,000 - root - INFO - ";

    @Test
    void readsStartTimesAndStepTimes() {
        TrainingTrace trace = read(Timing.MEASURED);
        assertEquals(1, trace.loopSeconds());
        assertEquals(2, trace.stepSeconds(), "of the first epoch");
        assertEquals(List.of(new TrainingTrace.Epoch(1, 10, 0.5, 300L, 3.0),
            new TrainingTrace.Epoch(2, 20, 0.25, 500L, 5.0)),
            trace.epochs());
    }

    @Test
    void rehearsalHasNoTimes() {
        TrainingTrace trace = read(Timing.REHEARSED);
        assertNull(trace.stepSeconds());
        assertEquals(List.of(1, 2), trace.epochs().stream().map(TrainingTrace.Epoch::number).toList());
        assertNull(trace.epochs().getFirst().stepSeconds());
    }

    private static TrainingTrace read(Timing timing) {
        TraceReader reader = new TraceReader(new TraceReader.Run("demo", TrainingTrace.ALONE, 1, 4, 10), timing);
        List<String> lines = List.of(TutorialLines.trainingStarts(), TutorialLines.forwardMemory(1 << 30),
            TutorialLines.epochTime(1, 5, 8), TutorialLines.forwardMemory(1 << 30),
            TutorialLines.epochTime(2, 2.5, 16));
        for (int i = 0; i < lines.size(); i++) {
            long anonymous = 100L * i + 100;
            reader.line(STAMP + lines.get(i), i + 1,
                () -> new WatchedProcess.Usage(new ProcessMemory(anonymous, 0, 0), anonymous / 100.0));
        }
        return reader.trace();
    }
}
