package org.isobar.data.convert;

import java.util.BitSet;
import java.util.List;

/** Counts the frames of a year that are written whole, from the first on. Thread-safe. */
final class WholeFrames {
    private final List<Slab> slabs;
    private final int[] missing; // slabs of each frame that are not written
    private int whole; // frames before the first that lacks a slab
    private boolean ended;

    /**
     * Starts to count.
     *
     * @param frames  number of frames of the year
     * @param written numbers of the slabs that are written already
     */
    WholeFrames(List<Slab> slabs, int frames, BitSet written) {
        this.slabs = slabs;
        missing = new int[frames];
        for (int i = 0; i < slabs.size(); i++) {
            if (!written.get(i)) {
                add(slabs.get(i), 1);
            }
        }
        advance();
    }

    /** Number of frames of the year. */
    int frames() {
        return missing.length;
    }

    /** Notes that a slab has been written. */
    synchronized void written(int slab) {
        add(slabs.get(slab), -1);
        advance();
        notifyAll();
    }

    private void add(Slab slab, int count) {
        slab.times().values().forEach(frames -> frames.forEach(frame -> missing[frame] += count));
    }

    private void advance() {
        while (whole < missing.length && missing[whole] == 0) {
            whole++;
        }
    }

    /** No more slabs are written. */
    synchronized void end() {
        ended = true;
        notifyAll();
    }

    /**
     * Waits until more than {@code known} frames are whole, or no more are written.
     *
     * @return how many are whole
     */
    synchronized int await(int known) throws InterruptedException {
        while (whole <= known && !ended) {
            wait();
        }
        return whole;
    }
}
