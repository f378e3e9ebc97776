package org.isobar.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.List;

import org.isobar.cli.options.ProgramContext;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** {@code isobar verify} on a GPU: one command checks both ways in which it computes. */
@Tag("cuda")
@Tag("slow")
class CudaVerifyTest {
    @Test
    void everyTypeIsCheckedInTf32AndInFullSinglePrecision() {
        StringWriter out = new StringWriter();
        CommandLine main = Main.commandLine(new ProgramContext(Path.of(".."), System.getenv()))
            .setOut(new PrintWriter(out, true)).setErr(new PrintWriter(out, true));
        assertEquals(0, Main.execute(main, "verify", "--device=cuda"), out::toString);
        List<String> checks = List.of("Operations in F16 ", "Operations in BF16", "Operations in F32 ",
            "Operations in F64 ", "Golden cases in F32 ", "Golden cases in F16 ", "Golden cases in BF16");
        List<String> lines = out.toString().lines().skip(1).toList(); // after the device
        assertEquals(2 * (1 + checks.size()) + 1, lines.size(), out::toString);
        assertTrue(lines.getFirst().endsWith("fp32 products in TF32:"), out::toString);
        assertTrue(lines.get(1 + checks.size()).endsWith("fp32 products in full precision:"), out::toString);
        for (int i = 0; i < checks.size(); i++) {
            assertTrue(lines.get(1 + i).startsWith(checks.get(i)), out::toString);
            assertTrue(lines.get(2 + checks.size() + i).startsWith(checks.get(i)), out::toString);
        }
        assertTrue(lines.get(6 + checks.size()).matches(".* of 1\\.0e-0[45]"), out::toString); // golden cases in F32
        assertEquals("All checks passed.", lines.getLast());
    }
}
