package org.isobar.distributed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.util.Map;

import com.sun.management.ThreadMXBean;
import org.isobar.backend.dryrun.DryRunCommunicator;
import org.isobar.backend.host.HostTensors;
import org.isobar.tensor.DType;
import org.isobar.tensor.Tensor;
import org.junit.jupiter.api.Test;

/** What a collective costs its rank on the host does not grow with the group. */
class LargeGroupTest {
    private static final int RANKS = 16_384;
    private static final int ROUNDS = 2000;
    private static final int MAX_BYTES = 2000; // allocated for one collective

    private final ProcessGrid grid = ProcessGrid.of("tp-dp", Map.of(Axis.TP, 4, Axis.DP, RANKS / 4));

    @Test
    void issuingACollectiveAllocatesLittle() {
        ProcessGroup group = grid.group(777, Axis.DP);
        CollectiveSequence sequence = new CollectiveSequence(group);
        Tensor tensor = HostTensors.of(DType.F32, 5, i -> i);
        try (Communicators communicators =
            new Communicators(grid, 777, (_, _) -> { }, DryRunCommunicator::new)) {
            long allocated = 0;
            for (int round = -1; round < ROUNDS; round++) {
                long before = allocated();
                assertEquals(group, communicators.along(Axis.DP).group());
                CollectiveCall call = sequence.allReduce(tensor, Reduction.SUM);
                assertEquals(null, call.difference(call.header()));
                assertTrue(call.place(group).length() < 200);
                allocated += round < 0 ? 0 : allocated() - before;
            }
            assertTrue(allocated / ROUNDS < MAX_BYTES, allocated / ROUNDS + " bytes for each collective");
        }
    }

    private static long allocated() {
        return ((ThreadMXBean) ManagementFactory.getThreadMXBean()).getCurrentThreadAllocatedBytes();
    }

    @Test
    void idsAreShortAndDifferent() {
        String id = grid.group(777, Axis.DP).id();
        assertTrue(id.length() < 50, id);
        assertEquals(id, grid.group(773, Axis.DP).id());
        assertNotEquals(id, grid.group(778, Axis.DP).id());
        assertNotEquals(id, ProcessGrid.of("dp", Map.of(Axis.DP, RANKS / 4)).group(1, Axis.DP).id());
    }

    @Test
    void messagesListSixteenRanks() {
        assertEquals("group dp [1, 5, 9, 13, 17, 21, 25, 29, 33, 37, 41, 45, 49, 53, 57, ... 16381, 4096 ranks]",
            grid.group(777, Axis.DP).toString());
        ProcessGroup sixteen = ProcessGrid.of("dp", Map.of(Axis.DP, 16)).group(3, Axis.DP);
        assertEquals("group dp [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]", sixteen.toString());
    }
}
