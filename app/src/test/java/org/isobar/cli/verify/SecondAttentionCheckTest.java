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
            List<String> lines = lines(device, true);
            List<String> checks = List.of("Attention by cuDNN 9.19.0 in F16: ", "Attention by cuDNN 9.19.0 in BF16: ",
                "Operations in F16    33 cases, 0 failed", "Operations in BF16   33 cases, 0 failed",
                "Golden cases in F16   110 comparisons, 0 failed;", "Golden cases in BF16  110 comparisons, 0 failed;");
            for (int i = 0; i < checks.size(); i++) {
                assertTrue(lines.get(i).startsWith(checks.get(i)), lines::toString);
            }
            assertTrue(lines.getFirst().matches(".*: [1-9]\\d* of \\d+ shapes; cuDNN needs heads of .*"),
                lines::toString);
            assertEquals(checks.size(), lines.size(), lines::toString);
        }
    }

    /** As cuDNN 9.19.0 on an H100: the cases would run on Isobar's kernels again, and prove nothing. */
    @Test
    void nothingIsCheckedOfALibraryThatRefusesAll() {
        SimulatedCudnn.wrong("graph", () -> {
            try (CudaDevice device =
                new CudaDevice(0, CudaFixture.options(), SimulatedCudnn.environment(), line -> { })) {
                List<String> lines = lines(device, true);
                assertEquals(2, lines.size(), lines::toString);
                for (String line : lines) {
                    assertTrue(line.matches("Attention by cuDNN 9.19.0 in B?F16: 0 of \\d+ shapes; .*"), line);
                }
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
