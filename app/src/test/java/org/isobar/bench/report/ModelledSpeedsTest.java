package org.isobar.bench.report;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

import org.isobar.bench.measure.AttentionResult;
import org.isobar.bench.measure.OperationGroup;
import org.isobar.bench.measure.Spread;
import org.isobar.bench.measure.StepOperation.Phase;
import org.isobar.bench.measure.StepResult;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Invented measurements on a GPU beside modelled speeds and beside PyTorch's kernels of attention. */
class ModelledSpeedsTest {
    private static final double MILLI = 1e-3;
    private static final int WIDTH = 8;
    private static final Map<String, String> H100 = Map.of("device", "NVIDIA H100 80GB HBM3, compute capability 9.0");

    @TempDir
    private Path directory;

    /** 1e9 bytes at 2,000 GB/s; the last three have no model of their width, of their type, and at all. */
    @Test
    void memoryBoundOperationsStandBesideTheirModel() throws IOException {
        Files.write(directory.resolve("modelled-memory.tsv"), List.of("A100\tadam COPY\tbf16_t\t1.0",
            "H100\tlayer_norm_backward WIDTH=8\tbf16_t\t2000.0", "H100\tadam\t\t4000.0",
            "H100\tadam COPY\tbf16_t\t2000.0", "H100\tsum_squares\t\t2000.0",
            "H100\tunpatchify_channel_last\tfloat\t2000.0", "H100\tlayer_norm WIDTH=16\tbf16_t\t2000.0",
            "H100\tgelu\thalf_t\t2000.0"));
        write("bf16", H100, operation("layerNormBackward", Phase.BACKWARD), operation("adam", Phase.UPDATE),
            operation("relativeL2Loss", Phase.FORWARD), operation("unpatchify", Phase.FORWARD),
            operation("layerNorm", Phase.FORWARD), operation("gelu", Phase.FORWARD), operation("copy", Phase.FORWARD));
        String page = report();
        for (String modelled : List.of("layerNormBackward | backward", "adam | update", "relativeL2Loss | forward",
            "unpatchify | forward")) {
            assertTrue(page.contains("| " + modelled + " | 2 | 1.000 | 1000.0 GB/s | not measured | 0.500 | 2.00 |\n"),
                page);
        }
        for (String other : List.of("layerNorm", "gelu", "copy")) {
            assertTrue(page.contains("| " + other + " | forward | 2 | 1.000 | 1000.0 GB/s | not measured |  |  |\n"),
                page);
        }
        write("tf32", H100, operation("adam", Phase.UPDATE));
        assertTrue(report().contains("| not measured | 0.250 | 4.00 |\n"), page); // without a copy
    }

    /** One head of 8 channels and 2 x 2 tokens: a product has 256 operations. */
    @Test
    void attentionStandsBesidePyTorchs() throws IOException {
        Files.write(directory.resolve("modelled.tsv"), List.of("H100\tbf16_t\t8\t200.0\t250.0"));
        write("bf16", H100, new OperationGroup("attention", Phase.FORWARD, 2, 1, 1, 2e-9),
            new OperationGroup("attentionBackward", Phase.BACKWARD, 2, 1, 1, 1e-8));
        String page = report();
        assertTrue(page.contains("| preset | bf16 | isobar, its own kernels | 0.000 | 0.5 | 200.0 | 0.000 | 0.3 | 250.0"
            + " |  |\n"), page);
        for (String kernel : List.of("FlashAttention-2", "cuDNN attention")) {
            assertTrue(page.contains("| preset | bf16 | pytorch, " + kernel + " | not measured | not measured |  "
                + "| not measured | not measured |  | see the parts of this run |\n"), page);
        }
        BenchFiles.write(directory.resolve("attention-preset-bf16.json"), new AttentionResult("pytorch", "preset",
            "bf16", List.of(new AttentionResult.Kernel("FlashAttention-2", Spread.of(1e-9), Spread.of(2e-9), ""),
                new AttentionResult.Kernel("cuDNN attention", null, null, "no such kernel")), Map.of()));
        page = report();
        assertTrue(page.contains("| pytorch, FlashAttention-2 | 0.000 | 0.5 |  | 0.000 | 0.6 |  |  |\n"), page);
        assertTrue(page.contains("| pytorch, cuDNN attention | not measured | not measured |  | not measured "
            + "| not measured |  | no such kernel |\n"), page);
    }

    @Test
    void anotherGpuHasNoModel() throws IOException {
        Files.write(directory.resolve("modelled-memory.tsv"), List.of("H100\tgelu\tbf16_t\t2000.0"));
        write("bf16", Map.of("device", "another GPU"), operation("gelu", Phase.FORWARD));
        assertFalse(report().contains("| ms, modelled"), "");
    }

    private static OperationGroup operation(String name, Phase phase) {
        return new OperationGroup(name, phase, 2, 0, 1e9, MILLI);
    }

    private void write(String products, Map<String, String> facts, OperationGroup... operations) {
        BenchFiles.write(directory.resolve("step-a-isobar-1.json"), new StepResult("isobar", "steps", "preset",
            products, new StepResult.Model(List.of(16, 16), 8, 1, 1, WIDTH, 1, 1), 1, MILLI, 3, 1, 1e12, List.of(1.0),
            Spread.of(MILLI), new StepResult.Memory(1, 0), new ArrayList<>(List.of(operations)), facts));
    }

    private String report() throws IOException {
        new BenchReport(BenchFiles.read(directory)).write(directory);
        return Files.readString(directory.resolve("report.md"));
    }
}
