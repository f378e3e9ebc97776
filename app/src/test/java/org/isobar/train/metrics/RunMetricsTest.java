package org.isobar.train.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import org.isobar.telemetry.MetricsFile;
import org.isobar.train.step.PhaseClock;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The lines of {@code metrics.jsonl}. */
class RunMetricsTest {
    @TempDir
    private Path directory;

    /** JSON has no NaN: a reader would find a text in the place of a number. */
    @Test
    void scoresThatAreNotFiniteAreNull() throws IOException {
        try (MetricsFile file = MetricsFile.append(directory)) {
            RunMetrics metrics = new RunMetrics(Optional.of(file), new PhaseClock(), new RunMetrics.Scale(1, 1, 1));
            metrics.scoredBeforeTraining(1, Double.NaN, Map.of("t2m", Double.NaN));
            metrics.rolledOut(1, Map.of(6, Map.of("t2m", Double.POSITIVE_INFINITY)));
        }
        List<String> lines = Files.readAllLines(directory.resolve(MetricsFile.NAME));
        assertEquals(2, lines.size());
        assertTrue(lines.getFirst().contains("\"valid_loss\":null,\"rmse\":{\"t2m\":null}"), lines::toString);
        assertTrue(lines.getLast().contains("\"rmse\":{\"6\":{\"t2m\":null}}"), lines::toString);
    }
}
