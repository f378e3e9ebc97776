package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;

import org.isobar.checkpoint.safetensors.SafeTensorsFile;
import org.isobar.fault.UserException;
import org.isobar.train.saving.StopRequest;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Runs of {@link org.isobar.model.PatchLinear}, which only the registry knows: it trains, validates, saves and resumes
 * like the vision transformer.
 */
class SecondModelTest {
    private static final String ARCHITECTURE = "architecture=patch_linear";
    private static final Pattern LOSS = Pattern.compile("Avg (?:train|val) loss=([0-9.]+)");
    @TempDir
    private static Path data;
    @TempDir
    private Path logs;

    @BeforeAll
    static void synthesize() {
        TinyRun.synthesize(data);
    }

    @Test
    void itTrainsAndSavesItsWeights() throws Exception {
        TinyRun run = TinyRun.of(data, logs, ARCHITECTURE, "num_iters=36").succeeded();
        assertTrue(run.log().contains("PatchLinear("));
        List<Double> losses = losses(run.log());
        assertEquals(6, losses.size()); // three epochs, each with a training and a validation loss
        assertTrue(losses.get(4) < losses.get(2) && losses.get(2) < losses.get(0), losses::toString);
        try (SafeTensorsFile weights = SafeTensorsFile.open(run.weights())) {
            assertEquals(List.of("patch.bias", "patch.weight"), weights.names().stream().sorted().toList());
        }
    }

    @Test
    void itResumesWithTheSameBits() throws Exception {
        TinyRun whole = TinyRun.of(data, logs.resolve("whole"), ARCHITECTURE).succeeded();
        TinyRun stopped = TinyRun.of(data, logs.resolve("stopped"), screen -> screen, stopAtLook(6), ARCHITECTURE);
        assertEquals(RunContext.INTERRUPTED, stopped.code(), stopped.screen());
        TinyRun resumed = TinyRun.of(data, logs.resolve("stopped"), ARCHITECTURE, "resume=auto").succeeded();
        assertArrayEquals(Files.readAllBytes(whole.weights()), Files.readAllBytes(resumed.weights()));
    }

    @ParameterizedTest
    @CsvSource({"2, 2", "2, 1"}) // two tensor-parallel ranks; two replicas
    void twoRanksTrainAsOneDoes(int ranks, int tp) throws Exception {
        TinyRun one = TinyRun.of(data, logs.resolve("one"), ARCHITECTURE).succeeded();
        ThreadJob job = ThreadJob.of(data, logs.resolve("job"), ranks, ARCHITECTURE, "tensor_parallel=" + tp).ended(0);
        List<Double> expected = losses(one.log());
        List<Double> actual = losses(Files.readString(job.directory().resolve("out.log")));
        assertEquals(expected.size(), actual.size());
        for (int i = 0; i < expected.size(); i++) {
            assertEquals(expected.get(i), actual.get(i), 2e-6 * expected.get(i));
        }
    }

    @Test
    void anUnknownArchitectureIsRefused() {
        UserException refused = Assertions.assertThrows(UserException.class,
            () -> TinyRun.config(data, logs, "architecture=vitt"));
        assertTrue(refused.getMessage().contains("patch_linear, vit"), refused::getMessage);
    }

    private static List<Double> losses(String log) {
        return LOSS.matcher(log).results().map(match -> Double.valueOf(match.group(1))).toList();
    }

    /** Asks to stop from the {@code look}-th time on that the run looks. */
    private static StopRequest stopAtLook(int look) {
        return new StopRequest() {
            private int looks;

            @Override
            public void arm() { }

            @Override
            public boolean isRequested() {
                return ++looks >= look;
            }
        };
    }
}
