package org.isobar.bench.suite;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.isobar.fault.UserException;
import org.isobar.os.ChildJava;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the CPU benchmark as a whole. */
class CpuSuiteTest {
    @TempDir
    private Path directory;

    /** Takes a minute. */
    @Test
    @Tag("slow")
    void rehearsalRunsEverythingWithoutTimes() throws IOException {
        CpuSuite suite = suite(ChildJava.command("org.isobar.cli.Main"), EnumSet.allOf(SuiteSection.class));
        assertEquals(0, suite.run(Map.of("why", "a test")));
        String page = Files.readString(directory.resolve("report.md"));
        for (String part : List.of("ceilings-isobar-large", "trace-startup-1", "loader-isobar-1", "growth-middle",
                "trace-ranks-tp-2", "trace-ranks-cp-2", "step-tiny-fp32-isobar-2", "trace-flat")) {
            assertTrue(page.contains("| " + part + " | ok | not measured |  |\n"), page);
        }
        assertTrue(page.startsWith("# Isobar and PyTorch\n\n- why: a test\n- date: "), page);
        assertFalse(page.matches("(?s).*\\d (ms|GB/s|GFLOP/s|TFLOP/s) \\|.*"), page);
        JsonNode report = new ObjectMapper().readTree(directory.resolve("report.json").toFile());
        for (JsonNode way : report.get("comparisons")) {
            assertTrue(way.get("seconds").isNull(), way::toString);
            assertTrue(way.get("loss_difference").asDouble() <= way.get("loss_tolerance").asDouble(), way::toString);
        }
        assertEquals(2, report.at("/traces/trace-flat/epochs").size());
    }

    @Test
    void failedPartsAreReported() throws IOException {
        CpuSuite suite =
            suite(List.of("false"), EnumSet.complementOf(EnumSet.of(SuiteSection.LOADER, SuiteSection.STEPS)));
        int failed = suite.run(Map.of());
        String page = Files.readString(directory.resolve("report.md"));
        assertEquals(failed, page.split("\\| failed \\|", -1).length - 1);
        assertTrue(page.contains("| growth-middle | failed | not measured | status 1 |\n"), page);
        assertTrue(page.contains("| trace-flat | failed |"), page);
    }

    @Test
    void directoryWithResultsIsRefused() throws IOException {
        Files.writeString(directory.resolve("parts.tsv"), "");
        String message =
            assertThrows(UserException.class, () -> suite(List.of("false"), EnumSet.allOf(SuiteSection.class)))
            .getMessage();
        assertTrue(message.contains("is not empty; name a new directory"), message);
    }

    private CpuSuite suite(List<String> isobar, EnumSet<SuiteSection> sections) {
        return new CpuSuite(new SuiteSetup(isobar, Path.of("..", "bench").toAbsolutePath(), Optional.empty(),
            Optional.of("left out"), SuiteSize.REHEARSED, sections, Duration.ofMinutes(15)), directory, line -> { });
    }
}
