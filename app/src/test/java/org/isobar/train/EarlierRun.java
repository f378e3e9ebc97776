package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * What a run left in a directory into which another one writes that fails.
 *
 * @param logs the root of logs
 */
record EarlierRun(Path logs) {
    private static final String LOG = "a line of the run before\n";
    private static final String WEIGHTS = "weights of the run before";

    /** Leaves a log and weights under {@code logs}. */
    static EarlierRun in(Path logs) throws IOException {
        Path directory = Files.createDirectories(TinyRun.directory(logs));
        Files.writeString(directory.resolve("out.log"), LOG);
        Files.writeString(directory.resolve("model.safetensors"), WEIGHTS);
        return new EarlierRun(logs);
    }

    /**
     * Checks that a run failed with exit code 2 and one error that holds all {@code words}, said on the screen and last
     * in the log, and that nothing of the run before is lost; returns what the run logged.
     */
    String assertIntactAfter(TinyRun run, List<String> words) throws IOException {
        assertOneError(run, words);
        String log = run.log();
        assertTrue(log.startsWith(LOG) && log.endsWith(run.screen()), log);
        assertEquals(WEIGHTS, Files.readString(run.weights()));
        try (Stream<Path> files = Files.walk(run.directory())) {
            assertEquals(List.of(), files.filter(file -> file.toString().endsWith(".tmp")).toList());
        }
        return run.screen();
    }

    /** Checks exit code and error message alone. */
    static void assertOneError(TinyRun run, List<String> words) {
        assertEquals(2, run.code(), run.screen());
        List<String> errors = run.screen().lines().filter(line -> line.contains(" - root - ERROR - ")).toList();
        assertEquals(1, errors.size(), run.screen());
        assertEquals(errors.getLast(), run.screen().lines().toList().getLast());
        for (String word : words) {
            assertTrue(errors.getFirst().contains(word), "no \"" + word + "\" in: " + errors.getFirst());
        }
        assertFalse(run.screen().contains("\tat "), run.screen());
    }
}
