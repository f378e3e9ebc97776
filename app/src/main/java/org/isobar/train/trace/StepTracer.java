package org.isobar.train.trace;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

import org.isobar.device.Device;
import org.isobar.device.OperationProxy;
import org.isobar.device.ProfilerRanges;
import org.isobar.device.Stopwatch;
import org.isobar.distributed.CollectiveCall;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.RecordingCommunicator;
import org.isobar.tensor.Tensor;
import org.isobar.train.step.PhaseClock;

/**
 * Records what one rank does while it is {@link #begin begun}: phases and ranges of its host threads by the clock,
 * operations by the device's stopwatch, which on a GPU marks events, and collectives as the host sees them. Made by the
 * thread that trains.
 */
final class StepTracer implements OperationProxy.Observer, RecordingCommunicator.Recorder, PhaseClock.Listener {
    static final String STEPS = "steps";
    static final String RANGES = "training";
    static final String PHASES = "phases";
    static final String OPERATIONS = "operations";
    private static final double NANOS_PER_SECOND = 1e9;
    private static final int FIRST_MARKS = 3; // of the stopwatch; that of the surest time begins the trace

    private final Thread trainer = Thread.currentThread();
    private final Queue<RankTimeline.Span> spans = new ConcurrentLinkedQueue<>(); // of all threads
    private final AtomicInteger count = new AtomicInteger(); // of spans, also of those left out
    private final Set<OpenRange> open = ConcurrentHashMap.newKeySet();
    private final Map<Issued, Times> collectives = new LinkedHashMap<>();
    private final List<String> operations = new ArrayList<>();
    private volatile boolean active;
    private Stopwatch stopwatch;
    private long begun;
    private int firstMark; // which of the first marks was made then
    private int most;
    private boolean marked; // whether the operation that is being issued is recorded

    /** A range that is open, such as the writing of a checkpoint, when the trace ends. */
    private record OpenRange(String lane, String name, long start) { }

    private record Issued(ProcessGroup group, CollectiveCall call) { }

    /** When a collective was issued, awaited and done. */
    private static final class Times {
        private final long issued = System.nanoTime();
        private long awaited;
        private long finished;
    }

    /**
     * Starts recording. The device has run all that was issued to it.
     *
     * @param limit most operations, most collectives and most other spans; later ones are left out
     */
    void begin(Device device, int limit) {
        most = limit;
        stopwatch = device.stopwatch();
        long surest = Long.MAX_VALUE;
        for (int i = 0; i < FIRST_MARKS; i++) {
            long before = System.nanoTime();
            stopwatch.mark();
            long uncertainty = System.nanoTime() - before;
            if (uncertainty < surest) {
                surest = uncertainty;
                begun = before + uncertainty / 2;
                firstMark = i;
            }
        }
        active = true;
    }

    /** Ends recording, waits for the device and returns what was recorded. */
    RankTimeline end(int rank, long... barriers) {
        active = false;
        open.forEach(this::add);
        List<RankTimeline.Span> all = new ArrayList<>(spans);
        double[] laps = stopwatch.laps();
        stopwatch.close();
        double at = Arrays.stream(laps, firstMark, FIRST_MARKS - 1).sum(); // seconds since the trace began
        for (int i = 0; i < operations.size(); i++) {
            at += laps[FIRST_MARKS - 1 + 2 * i];
            double seconds = laps[FIRST_MARKS + 2 * i];
            all.add(new RankTimeline.Span(OPERATIONS, operations.get(i), begun + Math.round(at * NANOS_PER_SECOND),
                Math.round(seconds * NANOS_PER_SECOND)));
            at += seconds;
        }
        boolean cut = Math.max(operations.size(), Math.max(collectives.size(), count.get())) >= most;
        return new RankTimeline(rank, barriers, cut, all, collectives.entrySet().stream()
            .filter(entry -> entry.getValue().finished > 0).map(entry -> exchange(entry.getKey(), entry.getValue()))
            .toList());
    }

    private static RankTimeline.Exchange exchange(Issued issued, Times times) {
        CollectiveCall call = issued.call;
        boolean paired = call.kind() == CollectiveCall.Kind.SEND || call.kind() == CollectiveCall.Kind.RECEIVE;
        return new RankTimeline.Exchange(issued.group.name(), issued.group.id(),
            call.kind().name().toLowerCase(Locale.ROOT), call.number(), paired,
            call.elements() * call.dtype().bytes(), times.issued, times.awaited, times.finished);
    }

    /** Adds what took place from {@code start} until now. */
    void add(String lane, String name, long start) {
        add(new RankTimeline.Span(lane, name, start, System.nanoTime() - start));
    }

    private void add(RankTimeline.Span span) {
        if (count.incrementAndGet() <= most) {
            spans.add(span);
        }
    }

    /** Adds what began before now and perhaps before the trace. */
    private void add(OpenRange range) {
        add(range.lane, range.name, Math.max(range.start, begun));
    }

    private boolean records() {
        return active && Thread.currentThread() == trainer;
    }

    @Override
    public void beforeIssue(String operation, List<Object> arguments) {
        marked = records() && operations.size() < most;
        if (marked) {
            operations.add(operation);
            stopwatch.mark();
        }
    }

    @Override
    public void afterIssue() {
        if (marked) {
            stopwatch.mark();
        }
    }

    @Override
    public void phase(PhaseClock.Phase phase, long start, long end) {
        if (active && end > start) {
            add(new RankTimeline.Span(PHASES, phase.name().toLowerCase(Locale.ROOT), Math.max(start, begun),
                end - Math.max(start, begun)));
        }
    }

    @Override
    public ProfilerRanges ranges(ProfilerRanges own) {
        return new ProfilerRanges() {
            @Override
            public Range open(String name) {
                Range range = own.open(name);
                Thread thread = Thread.currentThread();
                OpenRange opened = new OpenRange(thread == trainer ? RANGES : thread.getName(), name,
                    System.nanoTime());
                open.add(opened);
                return () -> {
                    range.close();
                    if (open.remove(opened) && active) {
                        add(opened);
                    }
                };
            }

            @Override
            public void startProfiler() {
                own.startProfiler();
            }

            @Override
            public void stopProfiler() {
                own.stopProfiler();
            }
        };
    }

    @Override
    public void opened(ProcessGroup group) { }

    @Override
    public void issued(ProcessGroup group, CollectiveCall call, Tensor tensor) {
        if (records() && collectives.size() < most) {
            collectives.put(new Issued(group, call), new Times());
        }
    }

    @Override
    public void awaited(ProcessGroup group, CollectiveCall call) {
        Times times = collectives.get(new Issued(group, call));
        if (times != null && times.awaited == 0) {
            times.awaited = System.nanoTime();
        }
    }

    @Override
    public void finished(ProcessGroup group, CollectiveCall call) {
        Times times = collectives.get(new Issued(group, call));
        if (times != null && times.finished == 0) {
            times.finished = System.nanoTime();
        }
    }
}
