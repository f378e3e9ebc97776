package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

import org.isobar.config.RunConfig;
import org.isobar.tensor.DType;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the proof at the start of a job that its ranks issue matching collectives. */
class StartProofTest {
    private static final String MISTAKE = "architecture=lone_call";
    private static final String LONG = "prove_collectives=60"; // even on a machine with much else to do

    @TempDir
    private static Path data;
    @TempDir
    private Path logs;

    @BeforeAll
    static void synthesize() {
        TinyRun.synthesize(data);
    }

    @Test
    void aSoundJobSaysSoOnceAndTrains() throws Exception {
        ThreadJob job = ThreadJob.of(data, logs, 2, "tensor_parallel=2", "num_iters=12", LONG).ended(0);
        assertEquals(1, lines(job.screen(), "Collectives of all 2 ranks match (").size(), job.screen());
    }

    @Test
    void aMismatchEndsTheJobBeforeItTrains() throws Exception {
        ThreadJob job = ThreadJob.of(data, logs, 2, "tensor_parallel=2", MISTAKE, LONG).ended(1);
        List<String> errors = lines(job.screen(), " - ERROR - ");
        assertEquals(2, errors.size(), job.screen()); // one for each rank
        for (String error : errors) {
            assertTrue(error.contains("rank 0: the ranks would issue collectives that do not match: rank 1, group tp "
                + "[0, 1], operation "), error);
        }
        assertFalse(job.screen().contains("Starting Training") || job.screen().contains("\tat "), job.screen());
    }

    @Test
    void withoutTheProofTheMismatchIsMetInTraining() throws Exception {
        ThreadJob job = ThreadJob.of(data, logs, 2, "tensor_parallel=2", MISTAKE, "prove_collectives=0").ended(1);
        assertFalse(job.screen().contains("would issue"), job.screen());
        assertTrue(job.screen().contains(" has issued operation "), job.screen());
    }

    @Test
    void aLackOfTimeIsSaid() {
        RunConfig config = TinyRun.jobConfig(data, logs, 8, "tensor_parallel=2", "context_parallel=2");
        CollectiveProof.Result sample = CollectiveProof.ofRoles(config, DType.F32, () -> false);
        assertEquals(Optional.empty(), sample.mismatch());
        assertEquals("Collectives: of 8 rank roles, 2 were checked and match (0.50 s), the others were not for lack of "
            + "time; ./isobar verify --collectives --world_size=8 checks all", StartProof.line(sample, 0.5));
        assertEquals("Collectives of all 8 ranks match (0.25 s)",
            StartProof.line(CollectiveProof.ofRoles(config, DType.F32, () -> true), 0.25));
    }

    private static List<String> lines(String screen, String text) {
        return screen.lines().filter(line -> line.contains(text)).toList();
    }
}
