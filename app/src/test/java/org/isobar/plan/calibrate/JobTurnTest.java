package org.isobar.plan.calibrate;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.backend.host.GridRanks;
import org.isobar.distributed.Axis;
import org.isobar.distributed.ProcessGrid;
import org.junit.jupiter.api.Test;

/** Measurements of two and of four ranks in a job of four. */
class JobTurnTest {
    private static final int RANKS = 4;

    /** Notes when it begins and ends. */
    private record Noted(int processes, List<String> notes) implements RepeatedMeasurement {
        @Override
        public void warmUp() {
            note("warm-up");
        }

        @Override
        public void round() {
            note("round");
        }

        private void note(String what) {
            notes.add(what + " of " + processes + " begins");
            Thread.yield();
            notes.add(what + " of " + processes + " ends");
        }
    }

    @Test
    void ranksOutsideOfAMeasurementWaitUntilItHasEnded() throws Exception {
        List<String> notes = new CopyOnWriteArrayList<>();
        GridRanks.run(ProcessGrid.of("tp-cp-dp", Map.of(Axis.DP, RANKS)), (_, job) -> {
            RepeatedMeasurement.interleave(Stream.of(2, RANKS).map(processes -> new JobTurn(job,
                Optional.of(new Noted(processes, notes)).filter(_ -> job.rank() < processes))).toList());
            return null;
        });
        List<String> order = IntStream.rangeClosed(0, RepeatedMeasurement.ROUNDS).boxed()
            .flatMap(round -> Stream.of(2, RANKS).map(processes -> (round == 0 ? "warm-up" : "round") + " of "
                + processes)).toList();
        int at = 0;
        for (String measurement : order) {
            int ranks = Integer.parseInt(measurement.substring(measurement.length() - 1));
            List<String> own = notes.subList(at, at + 2 * ranks);
            assertTrue(own.stream().allMatch(note -> note.startsWith(measurement)), notes::toString);
            assertEquals(ranks, Collections.frequency(own, measurement + " ends"), notes::toString);
            at += 2 * ranks;
        }
        assertEquals(at, notes.size(), notes::toString);
    }
}
