package org.isobar.backend.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.job.ManyRanks;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

/** A group of 1,024 ranks exchanges data over sockets, without a false report of a failure. */
@Tag("slow")
@Isolated("measures time")
class ManyRanksGatherTest {
    private static final int COUNT = 1024;

    @Test
    void gatherWithinSeconds() throws Exception {
        List<Integer> all = IntStream.range(0, COUNT).boxed().toList();
        try (ManyRanks ranks = new ManyRanks(COUNT)) {
            long first = System.nanoTime();
            long last = first;
            for (int round = 0; round < 2 || System.nanoTime() - first < Duration.ofMinutes(1).toNanos(); round++) {
                last = System.nanoTime();
                List<Integer> gathered = ranks.run(job -> SmallGather.gather(job, new ProcessGroup("dp", all,
                    job.rank()), ByteBuffer.allocate(Integer.BYTES).putInt(job.rank()).flip()).get(777).getInt(0));
                assertEquals(List.of(777), gathered.stream().distinct().toList());
            }
            double seconds = (System.nanoTime() - last) / 1e9;
            assertTrue(seconds < 15, seconds + " s"); // 10,240 handshakes in one process
            assertEquals(Map.of("none", COUNT), ranks.failures(Duration.ZERO));
        }
    }
}
