package org.isobar.device;

import java.util.ArrayList;
import java.util.List;

/** A stopwatch on the host clock, for devices whose operations are synchronous. */
final class HostStopwatch implements Stopwatch {
    private static final double NANOS_PER_SECOND = 1e9;

    private final List<Long> marks = new ArrayList<>();

    @Override
    public void mark() {
        marks.add(System.nanoTime());
    }

    @Override
    public double[] laps() {
        double[] laps = new double[Math.max(0, marks.size() - 1)];
        for (int i = 0; i < laps.length; i++) {
            laps[i] = (marks.get(i + 1) - marks.get(i)) / NANOS_PER_SECOND;
        }
        marks.clear();
        return laps;
    }

    @Override
    public void close() { }
}
