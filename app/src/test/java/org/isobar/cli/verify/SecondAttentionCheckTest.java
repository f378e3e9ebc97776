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
            assertEquals("Attention by cuDNN 9.19.0, where it can compute it:", lines.getFirst());
            List<String> checks = List.of("Operations in F16    33 cases, 0 failed",
                "Operations in BF16   33 cases, 0 failed", "Golden cases in F16   110 comparisons, 0 failed;",
                "Golden cases in BF16  110 comparisons, 0 failed;");
            for (int i = 0; i < checks.size(); i++) {
                assertTrue(lines.get(1 + i).startsWith(checks.get(i)), lines::toString);
            }
            assertEquals(1 + checks.size(), lines.size(), lines::toString);
        }
    }

    @Test
    void withoutCudnnNothingIsPrinted() {
        try (CudaDevice device = CudaFixture.device()) {
            assertEquals(List.of(), lines(device, true));
        }
    }
}
