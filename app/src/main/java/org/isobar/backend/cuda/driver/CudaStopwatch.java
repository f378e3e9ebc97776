package org.isobar.backend.cuda.driver;

import java.util.ArrayList;
import java.util.List;

import org.isobar.device.Stopwatch;

/** Times work of the compute stream with timed events, which are reused. */
public final class CudaStopwatch implements Stopwatch {
    private static final double MILLIS_PER_SECOND = 1e3;

    private final Gpu gpu;
    private final CudaStream stream;
    private final HostWait waits;
    private final List<CudaEvent> events = new ArrayList<>();
    private int marked;

    public CudaStopwatch(Gpu gpu, CudaStream stream, HostWait waits) {
        this.gpu = gpu;
        this.stream = stream;
        this.waits = waits;
    }

    @Override
    public void mark() {
        if (marked == events.size()) {
            events.add(CudaEvent.timed());
        }
        stream.record(events.get(marked++));
    }

    @Override
    public double[] laps() {
        double[] laps = new double[Math.max(0, marked - 1)];
        if (marked > 0) {
            waits.until(events.get(marked - 1));
        }
        for (int i = 0; i < laps.length; i++) {
            laps[i] = events.get(i + 1).millisSince(events.get(i)) / MILLIS_PER_SECOND;
        }
        marked = 0;
        return laps;
    }

    @Override
    public void close() {
        gpu.release(() -> events.forEach(CudaEvent::close));
        events.clear();
    }
}
