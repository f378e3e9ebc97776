package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A run of preset {@code tiny} in a process of its own, on the machine that its environment describes.
 *
 * @param code      exit code
 * @param err       what the terminal showed
 * @param directory where the process ran, with its logs
 */
record CudaRun(int code, String err, Path directory) {
    private static final long PATIENCE_SECONDS = 120;

    /** Trains on the data under {@code data}, writes under {@code logs}; fails if the process does not end. */
    static CudaRun of(Path data, Path logs, Map<String, String> environment, String... options) throws Exception {
        Path java = Path.of(System.getProperty("java.home"), "bin", "java");
        List<String> command = Stream.concat(Stream.of(java.toString(), "@" + Path.of("jvm.options").toAbsolutePath(),
            "-ea", "-XX:TieredStopAtLevel=1", "-Disobar.home=" + Path.of("..").toAbsolutePath(),
            "-cp", System.getProperty("java.class.path"), "org.isobar.cli.Main",
            "train", "--config=tiny", "--data_dir=" + data, "--expdir=" + logs), Stream.of(options)).toList();
        Path err = Files.createTempFile(logs, "run", ".err");
        ProcessBuilder builder = new ProcessBuilder(command).directory(logs.toFile()).redirectError(err.toFile())
            .redirectOutput(ProcessBuilder.Redirect.DISCARD);
        builder.environment().keySet().removeAll(List.of("DATADIR", "LOGDIR", "WORLD_SIZE"));
        builder.environment().putAll(environment);
        Process process = builder.start();
        boolean ended = process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS);
        process.destroyForcibly();
        String said = Files.readString(err, StandardCharsets.UTF_8);
        assertTrue(ended, () -> "still running after " + PATIENCE_SECONDS + " s:\n" + said);
        return new CudaRun(process.exitValue(), said, logs);
    }

    /** The same run; fails unless it ended with that code, and without a stack trace. */
    CudaRun ended(int expected) {
        assertEquals(expected, code, err);
        assertFalse(err.contains("\tat "), err);
        return this;
    }

    /** The same run; fails unless the terminal showed that text, once. */
    CudaRun says(String text) {
        assertTrue(err.contains(text) && err.indexOf(text) == err.lastIndexOf(text), err);
        return this;
    }

    /** The one line of the terminal that reports an error. */
    String error() {
        List<String> errors = err.lines().filter(line -> line.contains(" - ERROR - ")).toList();
        assertEquals(1, errors.size(), err);
        return errors.getFirst();
    }

    /** The log file. */
    String log() throws IOException {
        return Files.readString(TinyRun.directory(directory).resolve("out.log"));
    }
}
