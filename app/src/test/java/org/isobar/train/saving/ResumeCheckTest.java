package org.isobar.train.saving;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

import org.isobar.checkpoint.Damage;
import org.isobar.train.ThreadJob;
import org.isobar.train.TinyRun;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The ranks of a job check the checkpoint that they resume from together. */
class ResumeCheckTest {
    private static final String[] RUN = {"tensor_parallel=2", "num_iters=" + 2 * TinyRun.STEPS, "keep=3"};

    @TempDir
    private Path directory;

    private ThreadJob train(String resume) throws Exception {
        return ThreadJob.of(directory, directory, 2, RUN[0], RUN[1], RUN[2], resume);
    }

    /** Rank 1 finds the damage: the second file is its part. */
    @Test
    void damageThatAnotherRankFindsLeadsToTheCheckpointBefore() throws Exception {
        TinyRun.synthesize(directory);
        Path run = train("resume=never").ended(0).directory();
        byte[] weights = Files.readAllBytes(run.resolve("model.safetensors"));
        Path newest = run.resolve("checkpoints/checkpoint-" + 2 * TinyRun.STEPS);
        Path oldest = run.resolve("checkpoints/checkpoint-" + TinyRun.STEPS);
        Damage.flip(newest.resolve("rank-00001.safetensors"), 8 * 20_000);
        ThreadJob resumed = train("resume=auto").ended(0);
        assertEquals(run, resumed.directory());
        assertTrue(resumed.screen().contains("WARNING - checkpoint " + newest
            + " cannot be used: rank-00001.safetensors: bytes 0 to "), resumed.screen());
        assertTrue(resumed.screen().contains("Resuming after iteration " + TinyRun.STEPS + " from " + oldest),
            resumed.screen());
        assertArrayEquals(weights, Files.readAllBytes(run.resolve("model.safetensors")));
        List<String> log = Files.readAllLines(run.resolve("out.log"));
        assertEquals(2, log.stream().filter(line -> line.contains("Time taken for epoch")).count(),
            () -> String.join("\n", log)); // the log was cut to its length at the older checkpoint
        Damage.flip(newest.resolve("rank-00000.safetensors"), 8 * 20_000);
        Damage.flip(oldest.resolve("rank-00001.safetensors"), 8 * 20_000);
        ThreadJob refused = train("resume=" + oldest);
        assertEquals(2, refused.codes().getFirst(), refused.screen());
        assertTrue(refused.screen().contains("checkpoint " + oldest + " cannot be used: rank-00001.safetensors: "),
            refused.screen());
    }
}
