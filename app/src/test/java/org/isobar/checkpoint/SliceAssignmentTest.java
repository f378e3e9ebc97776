package org.isobar.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

import org.junit.jupiter.api.Test;

/** The shares of all ranks are a partition of the items, in order and balanced. */
class SliceAssignmentTest {
    @Test
    void sharesAreConsecutiveAndBalanced() {
        Random random = new Random(3);
        for (int trial = 0; trial < 300; trial++) {
            List<Long> sizes = random.longs(random.nextInt(20), 1, 1L << 36).boxed().toList();
            int ranks = 1 + random.nextInt(9);
            List<Long> together = new ArrayList<>();
            for (int rank = 0; rank < ranks; rank++) {
                List<Long> share = SliceAssignment.assign(sizes, Long::longValue, ranks, rank);
                together.addAll(share);
                assertTrue(share.isEmpty() || sum(share) <= sum(sizes) / ranks + Collections.max(share), sizes + " "
                    + ranks);
            }
            assertEquals(sizes, together);
        }
    }

    private static long sum(List<Long> sizes) {
        return sizes.stream().mapToLong(Long::longValue).sum();
    }

    @Test
    void equalItemsAreSharedEqually() {
        assertEquals(List.of(1, 1, 1), SliceAssignment.assign(Collections.nCopies(12, 1), Integer::longValue, 4, 2));
        assertEquals(List.of(), SliceAssignment.assign(List.of(), Object::hashCode, 4, 2));
        assertThrows(IllegalArgumentException.class, () ->
            SliceAssignment.assign(List.of(1), Integer::longValue, 2, 2));
    }

    /** 1,000 bytes in items of 10 make three shares of at least 300, for the first rank of each third. */
    @Test
    void sharesHaveALeastSize() {
        List<Integer> items = Collections.nCopies(100, 10);
        List<Integer> writing = new ArrayList<>();
        int written = 0;
        for (int rank = 0; rank < 16_384; rank++) {
            List<Integer> share = SliceAssignment.assign(items, Integer::longValue, 16_384, rank, 300);
            written += share.size();
            if (!share.isEmpty()) {
                writing.add(rank);
            }
        }
        assertEquals(List.of(0, 5461, 10_922), writing);
        assertEquals(100, written);
        for (int rank = 0; rank < 7; rank++) { // enough for each
            assertEquals(SliceAssignment.assign(items, Integer::longValue, 7, rank),
                SliceAssignment.assign(items, Integer::longValue, 7, rank, 100));
        }
    }
}
