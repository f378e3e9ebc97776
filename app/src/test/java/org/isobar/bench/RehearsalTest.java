package org.isobar.bench;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.isobar.os.ChildJava;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Runs {@code bench/gpu.sh --rehearse} on the simulated machine. The launcher is a script that replaces
 * {@code isobar verify}, which takes a minute there and has its own tests.
 */
@Tag("simulated")
@Execution(ExecutionMode.CONCURRENT)
class RehearsalTest {
    private static final int PATIENCE_SECONDS = 300; // for a loaded machine

    @TempDir
    private static Path whole;
    private static String output;

    @BeforeAll
    static void rehearse() throws Exception {
        output = rehearse(whole, "exit 0");
    }

    @Test
    void everythingRunsWithoutTimes() throws IOException {
        JsonNode report = report(whole);
        String page = page(whole);
        for (String part : List.of("verify", "ceilings-isobar", "step-tiny-bf16-isobar-1", "step-tiny-bf16-isobar-2",
                "step-tiny-bf16-isobar-graphs", "step-tiny-none-isobar-1", "step-tiny-none-isobar-graphs")) {
            assertTrue(page.contains("| " + part + " | ok | not measured |  |\n"), page + output);
        }
        assertFalse(output.contains(" failed "), output);
        List<String> modelled = Files.readAllLines(whole.resolve("results/modelled.tsv"));
        assertTrue(modelled.stream().allMatch(line -> line.matches("[HA]100\t(float|bf16_t)(\t[\\d.]+){3}"))
            && modelled.stream().anyMatch(line -> line.startsWith("H100\tbf16_t\t128\t")), modelled::toString);
        List<String> memory = Files.readAllLines(whole.resolve("results/modelled-memory.tsv"));
        assertTrue(memory.stream().allMatch(line -> line.matches("[HA]100\t\\w[^\t]*\t(float|bf16_t|)\t\\d+\\.\\d"))
            && memory.stream().anyMatch(line -> line.startsWith("A100\tadam COPY\tbf16_t\t")), memory::toString);
        assertFalse(page.matches("(?s).*\\d (ms|GB/s|TFLOP/s) \\|.*"), page);
        for (JsonNode way : report.get("comparisons")) {
            assertTrue(way.get("seconds").isNull() && way.get("rounds").isEmpty(), way::toString);
        }
        JsonNode operations = report.get("steps").get("step-tiny-bf16-isobar-1").get("operations");
        assertTrue(operations.size() > 20, operations::toString);
        operations.forEach(operation -> assertTrue(operation.get("seconds").isNull(), operation::toString));
        assertEquals(List.of("bf16", "fp16", "tf32"), report.at("/ceilings/ceilings-isobar/products").propertyStream()
            .map(Map.Entry::getKey).toList());
    }

    @Test
    void capturedStepsHaveTheSameLosses() throws IOException {
        assertEquals(2, agreeing("isobar", "graphs"), () -> output);
    }

    @Test
    void isobarAndPyTorchHaveTheSameLosses() throws IOException {
        assumeTrue(report(whole).get("steps").has("step-tiny-bf16-pytorch-eager"), () -> "no PyTorch on this machine: "
            + output);
        assertEquals(2, agreeing("pytorch", "eager"), () -> output);
    }

    /** On a CPU, PyTorch has no cuDNN attention, and before 2.3 no choice at all. */
    @Test
    void kernelsThatPyTorchDoesNotHaveAreSkippedWithTheReason() throws IOException {
        String page = page(whole);
        assertTrue(page.contains("| tiny | bf16 | pytorch, FlashAttention-2 | not measured |")
            && page.contains("| tiny | bf16 | pytorch, cuDNN attention | not measured |"), page);
        assertTrue(page.matches("(?s).*\\| step-tiny-bf16-pytorch-eager-cudnn \\| skipped \\| not measured \\| "
            + "(no python3|PyTorch \\S+ has no choice of cuDNN|cuDNN attention does not compute)[^|]* \\|\n.*"), page);
    }

    @Test
    void nothingIsMeasuredIfVerifyFails(@TempDir Path directory) throws Exception {
        String refused = rehearse(directory, "echo a check failed; exit 1");
        assertTrue(refused.contains("isobar verify failed, so nothing is measured"), refused);
        assertTrue(page(directory).contains("| verify | failed | not measured | status 1: a check failed |\n"),
            refused);
        assertEquals(0, report(directory).get("steps").size());
    }

    /** Number of settings in which this program and mode has Isobar's losses. */
    private static int agreeing(String program, String mode) throws IOException {
        int agreeing = 0;
        for (JsonNode way : report(whole).get("comparisons")) {
            if (way.get("program").asText().equals(program) && way.get("mode").asText().equals(mode)
                && !way.get("loss_difference").isNull()
                && way.get("loss_difference").asDouble() <= way.get("loss_tolerance").asDouble()) {
                agreeing++;
            }
        }
        return agreeing;
    }

    private static JsonNode report(Path directory) throws IOException {
        return new ObjectMapper().readTree(directory.resolve("results/report.json").toFile());
    }

    private static String page(Path directory) throws IOException {
        return Files.readString(directory.resolve("results/report.md"));
    }

    /** Runs a rehearsal whose launcher runs a shell command for {@code isobar verify}; returns its output. */
    private static String rehearse(Path directory, String verify) throws Exception {
        Path launcher = Files.writeString(directory.resolve("isobar"), """
            #!/bin/bash
            if [ "$1" = verify ]; then %s; fi
            exec '%s' "$@"
            """.formatted(verify, String.join("' '", ChildJava.command("org.isobar.cli.Main"))));
        Files.setPosixFilePermissions(launcher, PosixFilePermissions.fromString("rwx------"));
        Path screen = directory.resolve("screen");
        ProcessBuilder builder = new ProcessBuilder(Path.of("..", "bench", "gpu.sh").toAbsolutePath().toString(),
            "--rehearse", directory.resolve("results").toString()).directory(directory.toFile())
            .redirectErrorStream(true).redirectOutput(screen.toFile());
        builder.environment().put("ISOBAR", launcher.toString());
        Process process = builder.start();
        boolean ended = process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS);
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
        assertTrue(ended, Files.readString(screen));
        assertNotEquals(2, process.exitValue(), Files.readString(screen));
        return Files.readString(screen);
    }
}
