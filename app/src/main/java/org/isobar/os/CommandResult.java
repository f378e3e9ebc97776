package org.isobar.os;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Result of an external command.
 *
 * @param fault a one-line error message; empty if the exit code is 0
 * @param lines lines that it wrote to standard output and standard error, without blank lines
 */
public record CommandResult(Optional<String> fault, List<String> lines) {

    /** Runs a command without input. After {@code limit} the process and its descendants are killed. */
    public static CommandResult run(Duration limit, List<String> command) {
        try {
            Path output = Files.createTempFile("isobar", ".out"); // a pipe would have to be read by another thread
            try {
                return run(limit, command, output);
            } finally {
                Files.delete(output);
            }
        } catch (IOException absent) {
            return new CommandResult(Optional.of(FileFault.reason(absent)), List.of());
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
            return new CommandResult(Optional.of("interrupted"), List.of());
        }
    }

    private static CommandResult run(Duration limit, List<String> command, Path output)
        throws IOException, InterruptedException {
        Process process = new ProcessBuilder(command).redirectInput(new File("/dev/null"))
            .redirectErrorStream(true).redirectOutput(output.toFile()).start();
        boolean ended = false;
        try {
            ended = process.waitFor(limit);
        } finally {
            if (!ended) {
                process.descendants().forEach(ProcessHandle::destroyForcibly);
                process.destroyForcibly();
            }
        }
        List<String> lines = new String(Files.readAllBytes(output), StandardCharsets.UTF_8).lines()
            .filter(line -> !line.isBlank()).toList();
        return new CommandResult(ended ? fault(process.exitValue(), lines)
            : Optional.of("did not end within " + limit.toSeconds() + " s"), lines);
    }

    /** The exit code and the last line of output, which usually gives the reason. */
    private static Optional<String> fault(int status, List<String> lines) {
        return status == 0 ? Optional.empty()
            : Optional.of("status " + status + (lines.isEmpty() ? "" : ": " + lines.getLast().strip()));
    }
}
