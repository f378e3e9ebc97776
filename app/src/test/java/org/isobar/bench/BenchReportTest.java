package org.isobar.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reports of results that are made up. */
class BenchReportTest {
    private static final double MILLI = 1e-3;

    @TempDir
    private Path directory;

    @Test
    void waysOfOneStepStandBesideEachOther() throws IOException {
        write("step-a-isobar-1", step("isobar", "steps", Spread.of(10 * MILLI), List.of(1.0, 0.9), List.of()));
        write("step-a-isobar-2", step("isobar", "steps", Spread.of(12 * MILLI), List.of(1.0, 0.9), List.of()));
        write("step-a-pytorch-eager", step("pytorch", "eager", Spread.of(22 * MILLI), List.of(1.0, 0.909), List.of()));
        log("step-a-isobar-1\tok\t5\t100\t", "step-a-isobar-2\tok\t5\t1000\t", "step-a-pytorch-eager\tok\t9\t-\t");
        String page = report();
        assertTrue(page.contains("| preset | bf16 | isobar steps | 11.00 | 10.00-10.00, 12.00-12.00 | 363.6 | 90.9 "
            + "| 1.000 | 2.00 | 1.05 |\n"), page);
        assertTrue(page.contains("| preset | bf16 | pytorch eager | 22.00 | 22.00-22.00 | 181.8 | 45.5 | 0.500 | 2.00 "
            + "| not measured |\n"), page);
        assertTrue(page.contains("| pytorch eager | 1.0000000, 0.9090000 | 1.0e-02 | 1.2e-04 | NO |"), page);
        JsonNode json = new ObjectMapper().readTree(directory.resolve("report.json").toFile());
        assertEquals(0.5, json.get("comparisons").get(1).get("isobar_ratio").asDouble(), 1e-12);
        assertEquals(3, json.get("steps").size());
    }

    @Test
    void operationsAreHeldAgainstTheHighestCeiling() throws IOException {
        write("ceilings-isobar", new CeilingsResult("isobar", 1 << 30, Spread.of(2e12), 8192,
            Map.of("bf16", Spread.of(400e12))));
        write("ceilings-pytorch", new CeilingsResult("pytorch", 1 << 30, Spread.of(1e12), 8192,
            Map.of("bf16", Spread.of(500e12))));
        write("step-a-isobar-1", step("isobar", "steps", Spread.of(10 * MILLI), List.of(1.0), List.of(
            new OperationGroup("linear", Operation.Phase.FORWARD, 2, 1e12, 1e9, 4 * MILLI),
            new OperationGroup("gelu", Operation.Phase.FORWARD, 1, 0, 1e9, MILLI))));
        String page = report();
        assertTrue(page.contains("| linear | forward | 2 | 4.000 | 250.0 TFLOP/s | 50 % |\n"), page);
        assertTrue(page.contains("| gelu | forward | 1 | 1.000 | 1000.0 GB/s | 50 % |\n"), page);
        assertTrue(page.contains("| product of 8192 x 8192, bf16, TFLOP/s | pytorch | 500.0 | 500.0-500.0 |\n"), page);
    }

    @Test
    void whatFailedIsNamedWithItsReason() throws IOException {
        write("step-a-isobar-1", step("isobar", "steps", null, List.of(), List.of()));
        Files.writeString(directory.resolve("facts.tsv"), "date\ttoday\n");
        log("step-a-isobar-1\tfailed\t7\t-\tstatus 1: out of | memory");
        String page = report();
        assertTrue(page.contains("- date: today\n"), page);
        assertTrue(page.contains("| step-a-isobar-1 | failed | 7 | status 1: out of \\| memory |\n"), page);
        assertTrue(page.contains("| preset | bf16 | isobar steps | not measured | not measured | not measured "), page);
        assertTrue(page.contains("| isobar steps |  | unknown | 1.2e-04 | NO |"), page);
    }

    @Test
    void aDirectoryThatHoldsSomethingElse() throws IOException {
        Files.writeString(directory.resolve("step-x.json"), "{\"other\": 1}");
        String message = assertThrows(UserException.class, () -> BenchFiles.read(directory)).getMessage();
        assertTrue(message.contains("name a directory that bench/gpu.sh has written"), message);
    }

    private static StepResult step(String program, String mode, Spread seconds, List<Double> losses,
        List<OperationGroup> operations) {
        return new StepResult(program, mode, "preset", "bf16",
            new StepResult.Model(List.of(8, 8), 8, 1, 1, 8, 1, 1), 4, MILLI, 3, 1, 1e12, losses, seconds,
            new StepResult.Memory(2_000_000_000, 0), operations, Map.of());
    }

    private void write(String part, Object result) {
        BenchFiles.write(directory.resolve(part + ".json"), result);
    }

    private void log(String... lines) throws IOException {
        Files.write(directory.resolve("parts.tsv"), List.of(lines));
    }

    private String report() throws IOException {
        new BenchReport(BenchFiles.read(directory)).write(directory);
        return Files.readString(directory.resolve("report.md"));
    }
}
