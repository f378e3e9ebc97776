package org.isobar.data;

import org.isobar.os.PageCache;

/**
 * Keeps the disk busy with the samples that come after those that a thread reads; each thread has its own. To ask for
 * data that lies in memory costs a quarter of the time of reading it. So nothing is asked once a sample was read
 * without a disk, until one is not.
 */
final class PageCachePrefetcher {
    private final Era5Dataset dataset;
    private final PrefetchSchedule readAhead;
    private final PageCache pages = new PageCache();
    private boolean busy = true; // the disk, during the sample before
    private long blocks; // read on this thread's behalf when it began with this sample

    PageCachePrefetcher(Era5Dataset dataset, PrefetchSchedule readAhead) {
        this.dataset = dataset;
        this.readAhead = readAhead;
    }

    /** The thread begins with the sample at {@code position} of the order. */
    void begin(int position) {
        blocks = pages.blocksRead();
        if (!busy) {
            return;
        }
        for (int next = readAhead.toAskFor(position); next != PrefetchSchedule.NONE; next =
            readAhead.toAskFor(position)) {
            dataset.willNeed(readAhead.sample(next));
        }
    }

    /** The thread has read it. */
    void end() {
        busy = pages.blocksRead() != blocks;
    }
}
