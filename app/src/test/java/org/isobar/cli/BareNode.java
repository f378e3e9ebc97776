package org.isobar.cli;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Runs a bundle where there is nothing but what any Linux has: no Java and no Maven on the PATH, an empty home
 * directory, no variables.
 *
 * @param bundle    the unpacked bundle
 * @param directory where it runs and writes
 */
record BareNode(Path bundle, Path directory) {
    /** All that the launcher may ask for. */
    private static final List<String> TOOLS = List.of("bash", "dirname", "readlink");
    private static final Pattern LOSS = Pattern.compile("Avg (train|val) loss=(\\S+)");
    private static final long PATIENCE_SECONDS = 240;

    /** What a command did; {@code said} is output and errors. */
    record Result(int code, String said) {
        /** Training and validation losses as they are printed. */
        List<String> losses() {
            List<String> losses = LOSS.matcher(said).results().map(found -> found.group(2)).toList();
            assertTrue(code == 0 && losses.size() >= 2, said);
            return losses;
        }
    }

    /** Furnishes the directory. */
    BareNode {
        try {
            Files.createDirectories(directory.resolve("home"));
            Path tools = Files.createDirectories(directory.resolve("bin"));
            for (String tool : TOOLS) {
                Files.createSymbolicLink(tools.resolve(tool), Stream.of("/usr/bin", "/bin")
                    .map(bin -> Path.of(bin, tool)).filter(Files::exists).findFirst().orElseThrow());
            }
        } catch (IOException failure) {
            throw new AssertionError(failure);
        }
    }

    /** Runs {@code ./isobar ARGUMENTS}. */
    Result isobar(Map<String, String> variables, String... arguments) throws Exception {
        ProcessBuilder builder = new ProcessBuilder(Stream.concat(Stream.of(bundle.resolve("isobar").toString()),
            Stream.of(arguments)).toList()).directory(directory.toFile());
        builder.environment().clear();
        // The interpreter of "#!/usr/bin/env bash" is found by this PATH, too.
        builder.environment().putAll(Map.of("PATH", directory.resolve("bin").toString(), "HOME",
            directory.resolve("home").toString(), "ISOBAR_THREADS", "1"));
        builder.environment().putAll(variables);
        return run(builder);
    }

    /** Runs a command to its end. */
    static Result run(ProcessBuilder builder) throws Exception {
        Path said = Files.createTempFile("bundle", ".log");
        Process process = builder.redirectErrorStream(true).redirectOutput(said.toFile()).start();
        try {
            assertTrue(process.waitFor(PATIENCE_SECONDS, TimeUnit.SECONDS), () -> "still runs: " + builder.command());
            return new Result(process.exitValue(), Files.readString(said));
        } finally {
            process.destroyForcibly();
            Files.delete(said);
        }
    }
}
