package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Training on channels that are chosen by name. */
class NamedTrainingTest {
    private static final String EPOCH = "num_iters=12";
    private static final String NAMED = "channels=[u10, v10, t2m]";

    @TempDir
    private static Path data;
    private static TinyRun named;

    @BeforeAll
    static void train() {
        TinyRun.synthesize(data);
        named = TinyRun.of(data, data.resolve("named"), EPOCH, NAMED, "n_in_channels=1").succeeded();
    }

    @Test
    void theFirstChannelsByNameAreTheFirstChannels() throws IOException {
        TinyRun first = TinyRun.of(data, data.resolve("first"), EPOCH).succeeded();
        assertArrayEquals(Files.readAllBytes(first.weights()), Files.readAllBytes(named.weights()));
        assertEquals(losses(first), losses(named));
    }

    private static List<String> losses(TinyRun run) throws IOException {
        return run.log().lines().filter(line -> line.contains(" loss=")).map(line -> line.substring(23)).toList();
    }

    @Test
    void eachScoreHasItsName() throws IOException {
        for (String name : List.of("u10", "v10", "t2m")) {
            String line = "RMSE(" + name + ")/valid: model";
            assertEquals(1, named.log().lines().filter(written -> written.contains(line)).count(), line);
            assertTrue(named.events().labels().contains("RMSE(" + name + ")/valid @ 12"), name);
        }
        assertTrue(named.log().contains("n_in_channels 3\n"), named::screen);
    }

    @Test
    void aRunDoesNotResumeWithOtherChannels() {
        TinyRun other = TinyRun.of(data, data.resolve("other"), EPOCH, "channels=[u10, t2m, v10]",
            "resume=" + named.directory());
        assertEquals(2, other.code());
        assertTrue(other.screen().contains("channels is ['u10', 't2m', 'v10'], was ['u10', 'v10', 't2m']"),
            other.screen());
    }

    @Test
    void aMissingNameEndsTheRun() {
        TinyRun missing = TinyRun.of(data, data.resolve("missing"), EPOCH, "channels=[u10, q700]");
        assertEquals(2, missing.code());
        assertTrue(missing.screen().contains("1979.h5 has no channel q700. It has: u10, v10, t2m, sp, "),
            missing.screen());
    }
}
