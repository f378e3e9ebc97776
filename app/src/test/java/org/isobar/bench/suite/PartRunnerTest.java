package org.isobar.bench.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;

import org.isobar.bench.measure.BenchmarkPart;
import org.isobar.bench.measure.Timing;
import org.isobar.bench.report.BenchFiles;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs shell scripts as parts. */
class PartRunnerTest {
    private static final Duration LONG = Duration.ofSeconds(60);

    @TempDir
    private Path directory;
    private final List<String> progress = new ArrayList<>();

    @Test
    void failedPartIsRecordedWithItsLastLine() {
        PartRunner parts = parts(Timing.MEASURED, LONG);
        assertFalse(parts.run(plan("one", "echo first; echo 'out of\tmemory' >&2; echo WARNING: x; exit 3", LONG)));
        assertTrue(parts.run(plan("two", "sleep 0.2", LONG)));
        assertEquals(1, parts.failed());
        List<BenchmarkPart> noted = BenchFiles.read(directory).parts();
        assertEquals("status 3: out of memory", noted.get(0).reason());
        assertEquals(BenchmarkPart.FAILED, noted.get(0).result());
        assertEquals(BenchmarkPart.OK, noted.get(1).result());
        assertTrue(noted.get(1).seconds() >= 0.2, noted::toString);
        assertTrue(noted.get(1).memory().peak() > 0, noted::toString);
        assertEquals(2, progress.size());
    }

    @Test
    void hangingPartIsStoppedWithItsChildren() throws IOException {
        PartRunner parts = parts(Timing.MEASURED, LONG);
        long start = System.nanoTime();
        assertFalse(parts.run(plan("one", "sleep 100 & echo $!; wait", Duration.ofSeconds(1))));
        assertTrue(System.nanoTime() - start < LONG.toNanos());
        assertEquals("stopped at its time limit of 1 s", BenchFiles.read(directory).parts().getFirst().reason());
        long child = Long.parseLong(Files.readString(directory.resolve("one.log")).strip());
        assertFalse(ProcessHandle.of(child).map(ProcessHandle::isAlive).orElse(false));
    }

    @Test
    void missingProgramIsRecorded() {
        PartRunner parts = parts(Timing.MEASURED, LONG);
        assertFalse(parts.run(new PartRunner.Plan("one", List.of("/no/such/program"), LONG)));
        assertTrue(BenchFiles.read(directory).parts().getFirst().reason().contains("/no/such/program"));
    }

    @Test
    void partIsSkippedWhenTheBudgetIsSpent() {
        PartRunner parts = parts(Timing.MEASURED, Duration.ofSeconds(1));
        assertFalse(parts.run(plan("one", "true", LONG)));
        BenchmarkPart part = BenchFiles.read(directory).parts().getFirst();
        assertEquals(BenchmarkPart.SKIPPED, part.result());
        assertEquals("the time budget of 1 s is spent; --budget gives more", part.reason());
        assertEquals(0, parts.failed());
    }

    @Test
    void rehearsalRecordsNeitherTimeNorMemory() {
        assertTrue(parts(Timing.REHEARSED, LONG).run(plan("one", "true", LONG)));
        BenchmarkPart part = BenchFiles.read(directory).parts().getFirst();
        assertNull(part.seconds());
        assertNull(part.memory());
    }

    /** Children are listed once a second, so they run longer than that. */
    @Test
    void memoryOfChildrenCounts() {
        PartRunner parts = parts(Timing.MEASURED, LONG);
        parts.run(plan("one", "sleep 0.5", LONG));
        parts.run(plan("three", IntStream.range(0, 3).mapToObj(i -> "sleep 1.5 & ").reduce("", String::concat)
            + "wait", LONG));
        List<BenchmarkPart> noted = BenchFiles.read(directory).parts();
        assertTrue(noted.get(1).memory().peak() > 1.5 * noted.get(0).memory().peak(), noted::toString);
    }

    private PartRunner parts(Timing timing, Duration budget) {
        return new PartRunner(directory, timing, budget, progress::add);
    }

    private static PartRunner.Plan plan(String name, String script, Duration limit) {
        return new PartRunner.Plan(name, List.of("bash", "-c", script), limit);
    }
}
