package org.isobar.bench.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;

import org.isobar.bench.measure.Timing;
import org.isobar.bench.report.BenchFiles;
import org.isobar.telemetry.TutorialLines;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests runs that are stopped early. The program is a shell script. */
class TrainingPartsTest {
    @TempDir
    private Path directory;

    @Test
    void stoppedRunHasATraceOfItsEpochs() throws IOException {
        BenchFiles files = ranks(2);
        assertEquals(List.of("failed", "failed", "failed"), files.parts().stream().map(part -> part.result()).toList());
        assertEquals(Set.of("trace-ranks-1", "trace-ranks-tp-2", "trace-ranks-cp-2"), files.traces().keySet());
        files.traces().values().forEach(trace -> assertEquals(2, trace.epochs().size()));
    }

    @Test
    void firstEpochAloneGivesNoTrace() throws IOException {
        assertEquals(Set.of(), ranks(1).traces().keySet());
    }

    private BenchFiles ranks(int epochs) throws IOException {
        Path results = Files.createDirectories(directory.resolve("results"));
        Files.createDirectories(directory.resolve("tiny")); // data, which the script does not read
        Path log = Files.write(directory.resolve("log"), IntStream.rangeClosed(1, epochs)
            .mapToObj(epoch -> TutorialLines.epochTime(epoch, 1, 8)).toList());
        SuiteSetup setup =
            new SuiteSetup(List.of("bash", "-c", "cat '" + log + "'; exit 1"), directory, Optional.empty(),
            Optional.empty(), SuiteSize.REHEARSED, Set.of(), Duration.ofMinutes(1));
        new TrainingParts(setup, new PartRunner(results, Timing.REHEARSED, setup.budget(), line -> { }), directory)
            .ranks();
        return BenchFiles.read(results);
    }
}
