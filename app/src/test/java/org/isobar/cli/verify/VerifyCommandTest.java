package org.isobar.cli.verify;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

import org.isobar.backend.host.FreePorts;
import org.isobar.cli.Main;
import org.isobar.cli.options.ProgramContext;
import org.isobar.os.ChildJava;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** {@code isobar verify} as several processes. (What one process checks is tested where it is checked.) */
@Execution(ExecutionMode.CONCURRENT)
class VerifyCommandTest {
    private static final int PATIENCE_SECONDS = 90;

    @TempDir
    private Path directory;
    private final List<Process> processes = new ArrayList<>();

    @AfterEach
    void endAll() {
        processes.forEach(Process::destroyForcibly);
    }

    @Test
    void twoProcessesAgreeWithOne() throws Exception {
        int port = FreePorts.one();
        start(0, 2, port, "--tensor_parallel=2", "--steps=1");
        start(1, 2, port, "--tensor_parallel=2", "--steps=1");
        assertEquals(0, code(0), text("err", 0));
        assertEquals(0, code(1), text("err", 1));
        assertEquals("", text("out", 1));
        assertTrue(text("out", 0).contains("Layout: tp 2 x cp 1 x dp 1 x pp 1"), text("out", 0));
        for (String line : List.of("attention\n", "  gradient of block.attn.q.weight ", "  loss of step 0 ",
            " comparisons, 0 failed\nAll checks passed.\n")) {
            assertTrue(text("out", 0).contains(line), text("out", 0));
        }
    }

    /** In processes with a simulated GPU each, over NCCL. */
    @Tag("simulated")
    @Test
    void fourGpusAgreeWithOne() throws Exception {
        int port = FreePorts.one();
        for (int rank = 0; rank < 4; rank++) {
            start(rank, 4, port, "--device=cuda", "--comm_backend=nccl", "--tensor_parallel=2",
                "--context_parallel=2", "--steps=1");
        }
        for (int rank = 0; rank < 4; rank++) {
            assertEquals(0, code(rank), text("err", rank) + text("out", 0));
        }
        for (String line : List.of("Layout: tp 2 x cp 2 x dp 1 x pp 1", "  replicas differ after step 0 ",
            " comparisons, 0 failed\nAll checks passed.\n")) {
            assertTrue(text("out", 0).contains(line), text("out", 0));
        }
    }

    @Test
    void processesThatWereToldDifferentThingsSaySo() throws Exception {
        int port = FreePorts.one();
        start(0, 2, port, "--context_parallel=2", "--dropout=0");
        start(1, 2, port, "--context_parallel=2", "--dropout=0.5");
        for (int rank = 0; rank < 2; rank++) {
            assertEquals(2, code(rank), text("err", rank));
            assertTrue(text("err", rank).contains("dropout: 0.0 at rank 0, 0.5 at rank 1"), text("err", rank));
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', textBlock = """
        --tensor_parallel=2 | world size 1 is not divisible by tp x cp x pp = 2 x 1 x 1
        --dropout=1         | --dropout=1.0 must be at least 0 and less than 1
        --steps=0           | --steps=0 must be at least 1
        """)
    void whatTheUserCanMendExitsWithTwo(String option, String expected) {
        StringWriter err = new StringWriter();
        CommandLine main = Main.commandLine(new ProgramContext(Path.of(".."), Map.of()))
            .setErr(new PrintWriter(err, true));
        assertEquals(2, Main.execute(main, "verify", option));
        assertTrue(err.toString().contains(expected), err::toString);
    }

    private void start(int rank, int worldSize, int port, String... options) throws IOException {
        List<String> command = ChildJava.command(Main.class.getName(), "-Xmx256m");
        if (!List.of(options).contains("--device=cuda")) {
            command.remove(ChildJava.QUICK_COMPILER); // the code of C1 takes longer to compute each layer twice
        }
        command.addAll(List.of("verify", "--threads=1"));
        command.addAll(List.of(options));
        ProcessBuilder builder = new ProcessBuilder(command).redirectInput(new File("/dev/null"))
            .redirectOutput(file("out", rank).toFile()).redirectError(file("err", rank).toFile());
        builder.environment().keySet().removeIf(name -> name.startsWith("SLURM_"));
        builder.environment().putAll(Map.of("RANK", String.valueOf(rank), "LOCAL_RANK", String.valueOf(rank),
            "WORLD_SIZE", String.valueOf(worldSize), "ISOBAR_SIM_GPUS", String.valueOf(worldSize),
            "MASTER_ADDR", "127.0.0.1", "MASTER_PORT", String.valueOf(port),
            "ISOBAR_JOB_SECRET", "a secret of this test alone"));
        processes.add(builder.start());
    }

    private int code(int rank) throws InterruptedException {
        assertTrue(processes.get(rank).waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS), "rank " + rank + " still runs");
        return processes.get(rank).exitValue();
    }

    private String text(String stream, int rank) throws IOException {
        return Files.readString(file(stream, rank));
    }

    private Path file(String stream, int rank) {
        return directory.resolve(stream + rank);
    }
}
