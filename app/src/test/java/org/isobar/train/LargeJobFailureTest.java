package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.isobar.fault.UserException;
import org.isobar.train.saving.StopRequest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A job of more than 17 ranks has one error line for a failure that all of its ranks find. */
class LargeJobFailureTest {
    private static final int RANKS = 18;

    @TempDir
    private Path directory;

    @Test
    void aFailureOfAllRanksIsOneLine() throws Exception {
        CyclicBarrier all = new CyclicBarrier(RANKS); // so that no rank hears of another's failure before its own
        ThreadJob job = ThreadJob.of(directory, directory.resolve("logs"),
            Collections.nCopies(RANKS, StopRequest.NONE), rank -> communicator -> {
                communicator.close();
                await(all);
                throw new UserException("the disk is full");
            }, "global_batch_size=" + RANKS, "depth=1", "prove_collectives=0");
        job.ended(2);
        List<String> errors = job.screen().lines().filter(line -> line.contains(" - ERROR - ")).toList();
        assertEquals(1, errors.size(), job.screen());
        assertEquals("ranks 0-17: the disk is full", errors.getFirst().replaceFirst(".* - ERROR - ", ""));
    }

    private static void await(CyclicBarrier barrier) {
        try {
            barrier.await(1, TimeUnit.MINUTES);
        } catch (InterruptedException | BrokenBarrierException | TimeoutException e) {
            throw new IllegalStateException(e);
        }
    }
}
