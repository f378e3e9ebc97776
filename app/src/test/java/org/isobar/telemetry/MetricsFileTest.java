package org.isobar.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;

import org.isobar.fault.UserException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests what a metrics file has after a run was killed and resumed. */
class MetricsFileTest {
    @TempDir
    private Path directory;

    @BeforeEach
    void write() {
        try (MetricsFile file = MetricsFile.append(directory)) {
            file.line("run", 0, Map.of("text", "</script>\n"));
            for (long step = 1; step <= 4; step++) {
                file.line("step", step, Map.of("loss", 1.0 / step));
                if (step % 2 == 0) {
                    file.line(MetricsFile.CHECKPOINT, step, Map.of());
                    file.line("late", step, Map.of());
                }
            }
        }
    }

    @Test
    void linesAfterTheCheckpointAreRemoved() throws IOException {
        assertEquals(List.of("run 0", "step 1", "step 2", "checkpoint 2", "step 3"), continued(2));
        assertEquals(List.of("run 0", "step 1", "step 2", "checkpoint 2", "step 3"), continued(2), "a second time");
    }

    @Test
    void withoutTheCheckpointsLineLaterStepsAreRemoved() throws IOException {
        assertEquals(List.of("run 0", "step 1", "step 2", "checkpoint 2", "late 2", "step 3", "step 4"), continued(3));
    }

    @Test
    void anIncompleteLineIsRemoved() throws IOException {
        Path file = directory.resolve(MetricsFile.NAME);
        Files.writeString(file, "{\"kind\":\"st", StandardOpenOption.APPEND);
        try (MetricsFile again = MetricsFile.append(directory)) {
            again.line("run", 0, Map.of());
        }
        List<String> lines = labels();
        assertEquals(10, lines.size());
        assertEquals("run 0", lines.getLast());
    }

    @Test
    void aLinkIsNotFollowed() throws IOException {
        Path file = directory.resolve(MetricsFile.NAME);
        Path other = Files.move(file, directory.resolve("other"));
        Files.createSymbolicLink(file, other);
        long before = Files.size(other);
        UserException failure = assertThrows(UserException.class, () -> MetricsFile.append(directory));
        assertTrue(failure.getMessage().contains("a symbolic link, which is not followed"), failure.getMessage());
        assertEquals(before, Files.size(other));
    }

    private List<String> continued(long step) throws IOException {
        try (MetricsFile file = MetricsFile.resume(directory, step)) {
            file.line("step", step + 1, Map.of());
        }
        return labels();
    }

    private List<String> labels() throws IOException {
        return Files.readAllLines(directory.resolve(MetricsFile.NAME)).stream()
            .map(line -> line.replaceAll(".*\"kind\":\"(\\w+)\".*\"step\":(\\d+).*", "$1 $2")).toList();
    }
}
