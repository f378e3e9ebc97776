package org.isobar.data;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The order in which samples are read and prefetched. */
class PrefetchScheduleTest {
    private static final int[] ORDER = {50, 51, 52, 53, 54, 55};
    private final PrefetchSchedule schedule = new PrefetchSchedule(3, 2, 2);

    @BeforeEach
    void start() {
        schedule.start(ORDER);
    }

    @Test
    void aPositionDeterminesSampleSlotAndIndex() {
        for (int position = 0; position < ORDER.length; position++) {
            assertEquals(position, schedule.take());
            assertEquals(ORDER[position], schedule.sample(position));
            assertEquals(position / 2, schedule.slot(position));
            assertEquals(position % 2, schedule.index(position));
            schedule.finish(position, null);
        }
        schedule.end();
        assertEquals(PrefetchSchedule.NONE, schedule.take());
    }

    @Test
    void eachSampleIsPrefetchedOnce() {
        assertPrefetches(0, 0, 1, 2);
        assertPrefetches(1, 3);
        assertPrefetches(0);
        assertPrefetches(2, 4);
        assertPrefetches(5, 5);
        schedule.start(ORDER);
        assertPrefetches(0, 0, 1, 2);
    }

    @Test
    void samplesAlreadyTakenAreNotPrefetched() {
        assertPrefetches(3, 3, 4, 5);
        assertPrefetches(4);
    }

    private void assertPrefetches(int position, int... expected) {
        for (int next : expected) {
            assertEquals(next, schedule.nextToPrefetch(position));
        }
        assertEquals(PrefetchSchedule.NONE, schedule.nextToPrefetch(position));
    }
}
