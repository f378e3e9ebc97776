package org.isobar.cli.verify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.List;

import org.isobar.backend.cuda.CudaDevice;
import org.isobar.backend.cuda.CudaFixture;
import org.isobar.backend.cuda.SimulatedCudnn;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What {@code isobar verify --device=cuda} checks and prints of cuDNN. */
@Tag("simulated")
class SecondAttentionCheckTest {
    private static final String REFUSAL = "  cuDNN ";

    private static List<String> lines(CudaDevice device, boolean holds) {
        StringWriter out = new StringWriter();
        assertEquals(holds, new ArithmeticCheck(device, new PrintWriter(out, true)).runSecondAttention(),
            out::toString);
        return out.toString().lines().toList();
    }

    /** The contract's cases, and the golden models with heads of 8 and 48 channels. */
    @Test
    void operationsAndGoldenCasesAreChecked() {
        try (CudaDevice device = new CudaDevice(0, CudaFixture.options(), SimulatedCudnn.environment(), line -> { })) {
            List<String> all = lines(device, true);
            List<String> lines = all.stream().filter(line -> !line.startsWith(REFUSAL)).toList();
            List<String> checks = List.of("Attention by cuDNN 9.19.0 in F16: 8 of 12 shapes",
                "Attention by cuDNN 9.19.0 in BF16: 8 of 12 shapes",
                "Operations in F16    35 cases, 0 failed", "Operations in BF16   35 cases, 0 failed",
                "Golden cases in F16   110 comparisons, 0 failed;", "Golden cases in BF16  110 comparisons, 0 failed;");
            for (int i = 0; i < checks.size(); i++) {
                assertTrue(lines.get(i).startsWith(checks.get(i)), all::toString);
            }
            assertEquals(checks.size(), lines.size(), all::toString);
            assertEquals(2 * 4, all.size() - lines.size(), all::toString); // heads of 1, 5, 12 and 3620 channels
        }
    }

    /** As cuDNN 9.19.0 on an H100. {@code AttentionSelectionTest} trains with such a library. */
    @Tag("slow")
    @Test
    void aForwardPassAloneIsCheckedAndNamed() {
        SimulatedCudnn.wrong("backward", () -> {
            try (CudaDevice device =
                new CudaDevice(0, CudaFixture.options(), SimulatedCudnn.environment(), line -> { })) {
                List<String> lines = lines(device, true);
                for (String type : List.of("F16", "BF16")) {
                    assertTrue(lines.contains("Attention by cuDNN 9.19.0 (forward) in " + type + ": 8 of 12 shapes"),
                        lines::toString);
                }
                assertEquals(2, lines.stream().filter(line -> line.startsWith("  backward by Isobar's kernels: cuDNN "
                    + "9.19.0 refuses ")).count(), lines::toString);
                assertEquals(2, lines.stream().filter(line -> line.endsWith("35 cases, 0 failed")).count(),
                    lines::toString);
            }
        });
    }

    /** The cases would run on Isobar's kernels again, and prove nothing. */
    @Test
    void nothingIsCheckedOfALibraryThatRefusesAll() {
        SimulatedCudnn.wrong("graph", () -> {
            try (CudaDevice device =
                new CudaDevice(0, CudaFixture.options(), SimulatedCudnn.environment(), line -> { })) {
                List<String> lines = lines(device, true);
                assertEquals(2 * (1 + 12), lines.size(), lines::toString);
                for (String type : List.of("F16", "BF16")) {
                    assertTrue(lines.contains("Attention by cuDNN 9.19.0 in " + type + ": 0 of 12 shapes"),
                        lines::toString);
                }
                assertEquals(2 * 8, lines.stream().filter(line -> line.startsWith(REFUSAL)
                    && line.contains("operation graph of attention FORWARD: CUDNN_STATUS_BAD_PARAM")).count());
            }
        });
    }

    @Test
    void withoutCudnnNothingIsPrinted() {
        try (CudaDevice device = CudaFixture.device()) {
            assertEquals(List.of(), lines(device, true));
        }
    }
}
