package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Fields of roll-outs that cannot be used. */
class RollOutYearsTest {
    @TempDir
    private Path directory;

    @Test
    void aYearThatIsThereTwiceIsSeenBeforeTraining() throws IOException {
        TinyRun.synthesize(directory);
        Path valid = directory.resolve("tiny/valid");
        Files.copy(valid.resolve("1981.h5"), valid.resolve("more_1981.h5"));
        TinyRun run = TinyRun.of(directory, directory.resolve("logs"), "num_iters=12", "validate_rollout=2");
        assertEquals(2, run.code(), run.screen());
        assertTrue(run.screen().contains("are of the same year"), run.screen());
        assertFalse(run.screen().contains("Starting Training Loop"), run.screen());
    }
}
