package org.isobar.data;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is read, and what the disk is asked for, in which order. */
class PrefetchScheduleTest {
    private static final int[] ORDER = {50, 51, 52, 53, 54, 55};
    private final PrefetchSchedule readAhead = new PrefetchSchedule(3, 2, 2);

    @BeforeEach
    void start() {
        readAhead.start(ORDER);
    }

    @Test
    void aPositionTellsSampleSlotAndPlace() {
        for (int position = 0; position < ORDER.length; position++) {
            assertEquals(position, readAhead.take());
            assertEquals(ORDER[position], readAhead.sample(position));
            assertEquals(position / 2, readAhead.slot(position));
            assertEquals(position % 2, readAhead.index(position));
            readAhead.finish(position, null);
        }
        readAhead.end();
        assertEquals(PrefetchSchedule.NONE, readAhead.take());
    }

    @Test
    void theDiskIsAskedForEachSampleOnce() {
        assertAskedFor(0, 0, 1, 2);
        assertAskedFor(1, 3);
        assertAskedFor(0);
        assertAskedFor(2, 4);
        assertAskedFor(5, 5);
        readAhead.start(ORDER);
        assertAskedFor(0, 0, 1, 2);
    }

    @Test
    void whatIsPastIsNotAskedFor() {
        assertAskedFor(3, 3, 4, 5);
        assertAskedFor(4);
    }

    private void assertAskedFor(int position, int... expected) {
        for (int next : expected) {
            assertEquals(next, readAhead.toAskFor(position));
        }
        assertEquals(PrefetchSchedule.NONE, readAhead.toAskFor(position));
    }
}
