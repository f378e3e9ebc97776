package org.isobar.bench.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import javax.xml.parsers.DocumentBuilderFactory;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.isobar.bench.measure.CeilingsResult;
import org.isobar.bench.measure.LoaderResult;
import org.isobar.bench.measure.OperationGroup;
import org.isobar.bench.measure.Spread;
import org.isobar.bench.measure.StepOperation;
import org.isobar.bench.measure.StepResult;
import org.isobar.bench.measure.TrainingTrace;
import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.w3c.dom.Document;

/** Tests reports of invented results. */
class BenchReportTest {
    private static final double MILLI = 1e-3;

    @TempDir
    private Path directory;

    @Test
    void programsOfOneSettingAreCompared() throws IOException {
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
    void operationsAreComparedWithTheHighestCeiling() throws IOException {
        write("ceilings-isobar", new CeilingsResult("isobar", null, 1 << 30, Spread.of(2e12), 8192,
            Map.of("bf16", Spread.of(400e12))));
        write("ceilings-pytorch", new CeilingsResult("pytorch", null, 1 << 30, Spread.of(1e12), 8192,
            Map.of("bf16", Spread.of(500e12))));
        write("step-a-isobar-1", step("isobar", "steps", Spread.of(10 * MILLI), List.of(1.0), List.of(
            new OperationGroup("linear", StepOperation.Phase.FORWARD, 2, 1e12, 1e9, 4 * MILLI),
            new OperationGroup("gelu", StepOperation.Phase.FORWARD, 1, 0, 1e9, MILLI))));
        String page = report();
        assertTrue(page.contains("| linear | forward | 2 | 4.000 | 250.0 TFLOP/s | 50 % |\n"), page);
        assertTrue(page.contains("| gelu | forward | 1 | 1.000 | 1000.0 GB/s | 50 % |\n"), page);
        assertTrue(page.contains("| product of 8192 x 8192, bf16, TFLOP/s | pytorch | 500.0 | 500.0-500.0 |\n"), page);
    }

    /** 1e12 operations at 200 TFLOP/s; of backward, four products are counted in the step and five in the model. */
    @Test
    void attentionStandsBesideItsModel() throws IOException {
        Files.write(directory.resolve("modelled.tsv"),
            List.of("A100\tbf16_t\t8\t100.0\t100.0", "H100\tbf16_t\t16\t100.0\t100.0",
                "H100\tbf16_t\t8\t200.0\t250.0"));
        List<OperationGroup> operations = List.of(
            new OperationGroup("attention", StepOperation.Phase.FORWARD, 2, 1e12, 1e9, 4 * MILLI),
            new OperationGroup("attentionBackward", StepOperation.Phase.BACKWARD, 2, 2e12, 1e9, null));
        StepResult step = step("isobar", "steps", Spread.of(MILLI), List.of(1.0), operations);
        write("step-a-isobar-1", withFacts(step, Map.of("device", "NVIDIA H100 80GB HBM3, compute capability 9.0")));
        String page = report();
        assertTrue(page.contains("| ms, modelled, not measured | measured / modelled |\n"), page);
        assertTrue(page.contains("| attention | forward | 2 | 4.000 | 250.0 TFLOP/s | not measured | 5.000 | 0.80 "
            + "|\n"), page);
        assertTrue(page.contains("| attentionBackward | backward | 2 | not measured | not measured | not measured | "
            + "10.000 | not measured |\n"), page);
        for (Map<String, String> facts : List.of(Map.of("device", "another GPU"),
            Map.of("device", "NVIDIA H100", "attention", "cuDNN 9.19.0"))) {
            write("step-a-isobar-1", withFacts(step, facts));
            assertFalse(report().contains("ms, modelled"), facts::toString);
        }
    }

    private static StepResult withFacts(StepResult step, Map<String, String> facts) {
        return new StepResult(step.program(), step.mode(), step.config(), step.products(), step.model(), step.batch(),
            step.learningRate(), step.warmup(), step.steps(), step.flops(), step.losses(), step.stepSeconds(),
            step.memory(), step.operations(), facts);
    }

    @Test
    void failedPartsHaveTheirReason() throws IOException {
        write("step-a-isobar-1", step("isobar", "steps", null, List.of(), List.of()));
        Files.writeString(directory.resolve("facts.tsv"), "date\ttoday\n");
        log("step-a-isobar-1\tfailed\t7\t-\tstatus 1: out of | memory");
        String page = report();
        assertTrue(page.contains("- date: today\n"), page);
        assertTrue(page.contains("| step-a-isobar-1 | failed | 7 | status 1: out of \\| memory |\n"), page);
        assertTrue(page.contains("| preset | bf16 | isobar steps | not measured | not measured | not measured "), page);
        assertTrue(page.contains("| isobar steps |  | unknown | 1.2e-04 | NO |"), page);
    }

    /** On a CPU, with memory of the processes. */
    @Test
    void goalsCompareWithTheFastestPyTorch() throws IOException {
        for (int round = 1; round <= 2; round++) {
            write("step-a-isobar-" + round, cpuStep("isobar", Map.of(), 5 * round));
            write("step-a-pytorch-" + round, cpuStep("pytorch", Map.of("torch", "2.13.0"), 10 * round));
            write("step-a-python-" + round, cpuStep("pytorch", Map.of("torch", "1.13.0"), 20));
        }
        log("step-a-isobar-1\tok\t5\t-\t\t1000000000\t10\t2000000000",
            "step-a-isobar-2\tok\t5\t-\t\t1500000000\t10\t1900000000",
            "step-a-pytorch-1\tok\t5\t-\t\t5000000000\t10\t6000000000");
        String page = report();
        assertTrue(page.contains("| demo | fp32 | isobar steps | 7.50 | 5.00-5.00, 10.00-10.00 | 533.3 | 133.3 "
            + "| 1.000 | 2.00 | 1.50 | 2.00 |\n"), page);
        assertTrue(page.contains("| pytorch 2.13.0 eager | 15.00 | 10.00-10.00, 20.00-20.00 | 266.7 | 66.7 "
            + "| 0.500 (0.500-0.500) | 2.00 | 5.00 | 6.00 |\n"), page);
        assertTrue(page.contains("| 0.375 (0.250-0.500) | 2.00 | not measured | not measured |\n"), page);
        assertTrue(page.contains("| step of demo in fp32 / PyTorch's | <= 0.70 | 0.50 | met |\n"), page);
        assertTrue(page.contains("| step of base in fp32 / PyTorch's | <= 0.75 | not measured |  |\n"), page);
    }

    @Test
    void roundsArePairedByTheirNumber() throws IOException {
        for (int round = 1; round <= 4; round++) {
            write("step-a-isobar-" + round, cpuStep("isobar", Map.of(), 10 * round));
        }
        for (int round : List.of(1, 3, 4)) { // the second has failed
            write("step-a-pytorch-" + round, cpuStep("pytorch", Map.of("torch", "2.13.0"), 20 * round));
            write("step-a-python-" + round, cpuStep("pytorch", Map.of("torch", "2.13.0"), 40 * round));
        }
        String page = report();
        assertTrue(page.contains("| 0.417 (0.500-0.500) |"), page); // 25 ms / 60 ms
        assertTrue(page.contains("| 0.208 (0.250-0.250) |"), page);
    }

    @Test
    void stoppedLongRunHasNoGoals() throws IOException {
        write("trace-flat", new TrainingTrace("tiny", TrainingTrace.ALONE, 1, 1.0, 1.5, IntStream.range(0, 19)
            .mapToObj(i -> new TrainingTrace.Epoch(i + 1, 500L * i + 500, MILLI, 100_000_000L, null)).toList()));
        String page = report();
        assertTrue(page.contains("| 0 to 500 | 1.000 | 100.0 |\n"), page);
        assertFalse(page.contains("of the second tenth |"), page);
    }

    @Test
    void loadersAreComparedWithMemcpy() throws IOException {
        write("loader-isobar-1", loader("isobar", rate(LoaderResult.MEMORY, "memcpy", 1, 12e9),
            rate(LoaderResult.MEMORY, "memcpy", 2, 20e9), rate("contiguous", "0 workers", 1, 6e9),
            rate("contiguous", "2 workers", 2, 15e9)));
        write("loader-h5py-1", loader("h5py", rate("contiguous", LoaderRates.TUTORIAL, 1, 1e9)));
        String page = report();
        assertTrue(page.contains("| contiguous | isobar | 0 workers | 1 | 6.00 | 6.00-6.00 | 50 % |\n"), page);
        assertTrue(page.contains("| read and normalize on one thread / the tutorial's access | >= 4.0 | 6.0 | met |\n"),
            page);
        assertTrue(page.contains("| read and normalize on one thread / its memcpy | >= 0.65 | 0.50 | NOT MET |\n"),
            page);
        assertTrue(page.contains("| read and normalize on two threads / their memcpy | >= 0.70 | 0.75 | met |\n"),
            page);
    }

    @Test
    void tracesHaveStartTimesAndIntervals() throws IOException {
        write("trace-startup-1", new TrainingTrace("demo", TrainingTrace.ALONE, 1, 1.0, 1.5, List.of()));
        write("trace-startup-2", new TrainingTrace("demo", TrainingTrace.ALONE, 1, 1.2, 1.9, List.of()));
        write("trace-flat", new TrainingTrace("tiny", TrainingTrace.ALONE, 1, 1.0, 1.5, IntStream.range(0, 20)
            .mapToObj(i ->
                new TrainingTrace.Epoch(i + 1, 500L * i + 500, i < 18 ? MILLI : 2 * MILLI, 100_000_000L, null))
            .toList()));
        String page = report();
        assertTrue(page.contains("| the end of its second step | 2 | 1.70 | 1.50-1.90 |\n"), page);
        assertTrue(page.contains("| 0 to 1000 | 1.000 | 100.0 |\n"), page);
        assertTrue(page.contains("of the second tenth | <= 1.05 | 2.00 | NOT MET |\n"), page);
        assertTrue(page.contains("after the second tenth | <= 1.05 | 1.00 | met |\n"), page);
    }

    @Test
    void growthIsTheSlopeOnLogarithmicAxes() throws Exception {
        write("growth-middle", grown(8, 192, 6, 10));
        write("growth-patch-4", grown(4, 192, 6, 80));
        write("growth-embed-384", grown(8, 384, 6, 40));
        write("trace-ranks-1", ranks(TrainingTrace.ALONE, 1));
        write("trace-ranks-tp-2", ranks("tp", 2));
        write("trace-ranks-tp-4", ranks("tp", 4));
        String page = report();
        assertTrue(page.contains("| tokens | 8 | 10.00 |  | 2000.0 |  | not measured |  |\n"
            + "| tokens | 32 | 80.00 | 1.50 | 2000.0 | 0.00 | not measured |  |\n"), page);
        assertTrue(page.contains("| embedding | 384 | 40.00 | 2.00 |"), page);
        assertTrue(page.contains("| 2 | tp | 2.00 | 2.00 | 6 | 1.50 | not measured |\n"), page);
        assertTrue(page.contains("on four ranks, tp / on one | <= 1.80 | 2.50 | NOT MET |\n"), page);
        assertTrue(page.contains("](growth.svg)"), page);
        Document picture = DocumentBuilderFactory.newInstance().newDocumentBuilder()
            .parse(directory.resolve("growth.svg").toFile());
        assertEquals(7, picture.getElementsByTagName("rect").getLength());
    }

    private static StepResult grown(int patch, int embed, int depth, double millis) {
        return new StepResult("isobar", "steps", "demo", "fp32",
            new StepResult.Model(List.of(16, 32), patch, 1, 1, embed, depth, 1), 1, MILLI, 3, 1, 1e9, List.of(1.0),
            Spread.of(millis * MILLI), new StepResult.Memory(2_000_000_000, 0), List.of(), Map.of());
    }

    private static TrainingTrace ranks(String split, int ranks) {
        double cpu = (ranks + 1) * 2 * MILLI; // seconds a step
        return new TrainingTrace("demo", split, ranks, 1.0, 2.0,
            List.of(new TrainingTrace.Epoch(1, 10, 1.0, 5L, 90.0),
                new TrainingTrace.Epoch(2, 20, ranks * MILLI, 5L, 100.0),
                new TrainingTrace.Epoch(3, 30, ranks * MILLI, 5L, 100 + 10 * cpu)));
    }

    private static LoaderResult loader(String program, LoaderResult.Rate... rates) {
        return new LoaderResult(program, 41_472_000, List.of(rates), Map.of());
    }

    private static LoaderResult.Rate rate(String layout, String way, int threads, double bytes) {
        return new LoaderResult.Rate(layout, way, threads, Spread.of(bytes));
    }

    private static StepResult cpuStep(String program, Map<String, String> facts, double millis) {
        return new StepResult(program, program.equals("isobar") ? "steps" : "eager", "demo", "fp32",
            new StepResult.Model(List.of(8, 8), 8, 1, 1, 8, 1, 1), 4, MILLI, 3, 1, 1e9, List.of(1.0),
            Spread.of(millis * MILLI), new StepResult.Memory(2_000_000_000, 0), List.of(), facts);
    }

    @ParameterizedTest
    @ValueSource(strings = {"{\"other\": 1}", "{}", "{\"program\": \"isobar\"}", "null"})
    void directoryWithOtherFilesIsRefused(String json) throws IOException {
        Files.writeString(directory.resolve("step-x.json"), json);
        String message = assertThrows(UserException.class, () -> BenchFiles.read(directory)).getMessage();
        assertTrue(message.contains("name a directory that bench cpu or bench/gpu.sh has written"), message);
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
