package org.isobar.distributed;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.List;

import org.isobar.fault.UserException;
import org.isobar.tensor.Shape;
import org.junit.jupiter.api.Test;

/** Slices of weights and parts of sequences. */
class ShardTest {
    @Test
    void columnParallelCutsRowsAndRowParallelCutsColumns() {
        ProcessGroup group = new ProcessGroup("tp", List.of(4, 5, 6, 7), 6);
        assertEquals(Shape.of(128, 1024), Shard.columnParallel(group).local(Shape.of(512, 1024)));
        assertEquals(Shape.of(128), Shard.columnParallel(group).local(Shape.of(512)));
        assertEquals(Shape.of(512, 256), Shard.rowParallel(group).local(Shape.of(512, 1024)));
        assertEquals(256, Shard.columnParallel(group).start(512));
        assertEquals(512, Shard.rowParallel(group).start(1024));
        assertEquals(Shape.of(7), Shard.whole().local(Shape.of(7)));
    }

    @Test
    void unevenWeightsAreRefused() {
        String message = assertThrows(UserException.class, () -> new Shard(0, 4, 1).local(Shape.of(510, 3)))
            .getMessage();
        assertTrue(message.contains("510") && message.contains("4"), message);
        assertThrows(IllegalArgumentException.class, () -> new Shard(0, 4, 4));
    }

    @Test
    void sequencesAreSplitAsInTheTutorial() {
        assertArrayEquals(new long[] {1013, 1013, 1013, 1011}, SequenceSplit.sizes(4050, 4));
        assertArrayEquals(new long[] {17, 17, 17, 14}, SequenceSplit.sizes(65, 4));
        assertArrayEquals(new long[] {9, 9, 9, 9, 9, 9, 9, 2}, SequenceSplit.sizes(65, 8));
        // With ceil the last of 4 parts would be empty: 9 = 3 + 3 + 3 + 0.
        assertArrayEquals(new long[] {2, 2, 2, 3}, SequenceSplit.sizes(9, 4));
        assertEquals(3039, SequenceSplit.start(4050, 4, 3));
        assertThrows(IllegalArgumentException.class, () -> SequenceSplit.sizes(3, 4));
    }

    @Test
    void everySequenceSplitIsWhole() {
        for (int parts = 1; parts <= 16; parts++) {
            for (long size = parts; size < 300; size++) {
                long[] sizes = SequenceSplit.sizes(size, parts);
                assertEquals(size, Arrays.stream(sizes).sum());
                assertTrue(Arrays.stream(sizes).allMatch(part -> part > 0));
                assertEquals(1, Arrays.stream(sizes).limit(Math.max(1, parts - 1)).distinct().count());
            }
        }
    }

    @Test
    void runsSayWhereTheSliceLies() {
        Shape weight = Shape.of(6, 4, 5);
        assertEquals(new Shard.Runs(1, 40, 40, 120), new Shard(0, 3, 1).runs(weight));
        assertEquals(new Shard.Runs(6, 10, 10, 20), new Shard(1, 2, 1).runs(weight));
        assertEquals(new Shard.Runs(1, 120, 0, 120), Shard.whole().runs(weight));
        assertEquals(10 + 3 * 20, new Shard(1, 2, 1).runs(weight).start(3));
    }
}
