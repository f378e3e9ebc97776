package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import org.isobar.os.ChildJava;
import org.isobar.telemetry.EventFile;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests streams, exit codes and signals of the program in a separate process with the JVM options of the launcher. */
@Isolated("a run must end within five seconds of a signal")
class TrainProcessTest {
    private static final int PATIENCE_SECONDS = 5;

    @TempDir
    private static Path data;
    @TempDir
    private Path logs;

    /** This first run also unpacks the native libraries, which a limit on file sizes would prevent. */
    @BeforeAll
    static void synthesize() {
        TinyRun.synthesize(data);
        TinyRun.of(data, data.resolve("logs"), "num_iters=12").succeeded();
    }

    @Test
    void runLogsToStandardErrorAndExitsWithZero() throws Exception {
        Result result = finish(start(train("--num_iters=12")));
        assertEquals(0, result.code, result.err);
        assertEquals("", result.out);
        assertTrue(result.err.endsWith(log()), result.err);
        assertTrue(log().endsWith(" - root - INFO - DONE ---- rank 0\n"), log());
    }

    @Test
    void helpGoesToStandardOutput() throws Exception {
        Result result = finish(start(program("train", "--help")));
        assertEquals(0, result.code, result.err);
        assertTrue(result.out.contains("--init_weights=FILE"), result.out);
        assertFalse(result.err.contains("isobar"), result.err);
    }

    @Test
    void unknownOptionSuggestsTheNearest() throws Exception {
        Result result = finish(start(train("--num_iter=3")));
        assertEquals(2, result.code);
        assertTrue(result.err.contains("Unknown option: '--num_iter=3'. Did you mean '--num_iters'?"), result.err);
        assertEquals("", result.out);
        assertFalse(Files.exists(TinyRun.directory(logs)));
    }

    /** USR1 and TERM, which Slurm sends to a job, and INT, which Ctrl-C sends, in the middle of an epoch. */
    @ParameterizedTest
    @CsvSource({"USR1, 10, 2, 75", "TERM, 15, 2, 75", "INT, 2, 2, 75", "TERM, 15, 0, 143"})
    void signalEndsTheRunAndLeavesACompleteLog(String signal, int number, int keep, int code) throws Exception {
        assumeTrue(isHeard(number), "this JVM was started with the signal ignored, and so its children ignore it");
        Process process = start(train("--set", "patch_size=2", "--num_iters=120000", "--keep=" + keep));
        StringBuilder seen = new StringBuilder();
        try (BufferedReader lines = process.errorReader()) {
            for (String line = ""; line != null && !line.contains("Memory usage"); line = lines.readLine()) {
                seen.append(line).append('\n');
            }
            new ProcessBuilder("kill", "-" + signal, Long.toString(process.pid())).start().waitFor();
            boolean ended = process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS);
            process.destroyForcibly();
            assertTrue(ended, "still running " + PATIENCE_SECONDS + " s after the signal");
        }
        assertEquals(code, process.exitValue(), seen::toString);
        assertTrue(log().contains("Starting Training Loop...\n") && log().endsWith("\n"), log());
        assertFalse(log().contains("ERROR"), log());
        assertEquals(keep > 0, log().contains("which is saved; go on with --resume=auto"), log());
        assertEquals(List.of("Loss/train @ 0", "Loss/valid @ 0", "RMSE(u10m)/valid @ 0"),
            events().labels().subList(0, 3));
    }

    /** Whether this process does not ignore a signal; child processes inherit that (proc(5), SigIgn). */
    private static boolean isHeard(int signal) throws IOException {
        String mask = Files.readAllLines(Path.of("/proc/self/status")).stream()
            .filter(line -> line.startsWith("SigIgn:")).findAny().orElseThrow();
        return (Long.parseUnsignedLong(mask.substring("SigIgn:".length()).strip(), 16) >> (signal - 1) & 1) == 0;
    }

    /** A limit on the size of files interrupts a write like a full disk. */
    @Test
    void interruptedWriteLeavesCompleteEvents() throws Exception {
        List<String> limited = new ArrayList<>(List.of("bash", "-c", "ulimit -f 16; exec \"$@\"", "bash"));
        limited.addAll(train("--num_iters=12"));
        Result result = finish(start(limited));
        assertEquals(2, result.code, result.err);
        assertTrue(result.err.contains("ERROR - cannot write TensorBoard events to "), result.err);
        assertTrue(result.err.contains(": File too large; free space"), result.err);
        assertTrue(result.err.endsWith(log()), result.err);
        assertEquals("Avg samples per sec @ 12", events().labels().getLast());
    }

    private record Result(int code, String out, String err) { }

    private String log() throws IOException {
        return Files.readString(TinyRun.directory(logs).resolve("out.log"));
    }

    private EventFile events() throws IOException {
        try (Stream<Path> files = Files.list(TinyRun.directory(logs).resolve("logs"))) {
            return EventFile.read(files.findAny().orElseThrow());
        }
    }

    private List<String> train(String... options) {
        return program(Stream.concat(Stream.of("train", "--config=tiny", "--data_dir=" + data, "--expdir=" + logs),
            Stream.concat(TinyRun.smallerOptions().stream(), Stream.of(options)))
            .toArray(String[]::new));
    }

    private static List<String> program(String... arguments) {
        return Stream.concat(ChildJava.command("org.isobar.cli.Main").stream(), Stream.of(arguments)).toList();
    }

    private Process start(List<String> command) throws IOException {
        ProcessBuilder builder = new ProcessBuilder(command).directory(logs.toFile());
        builder.environment().keySet().removeAll(List.of("DATADIR", "LOGDIR", "WORLD_SIZE"));
        return builder.start();
    }

    private static Result finish(Process process) throws IOException, InterruptedException {
        String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        String err = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
        return new Result(process.waitFor(), out, err);
    }
}
