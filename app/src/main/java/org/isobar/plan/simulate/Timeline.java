package org.isobar.plan.simulate;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What one simulated rank did, in seconds from the start of the step.
 *
 * @param end   when its compute stream and all of its collectives were done
 * @param spans what its streams did, in order of issue
 */
public record Timeline(double end, List<Span> spans) {
    /** Stream name of computation. */
    public static final String COMPUTE = "compute";
    /** Stream name of the time in which the compute stream waits for a collective. */
    public static final String WAIT = "wait";

    /**
     * An interval of one stream.
     *
     * @param stream {@link #COMPUTE}, {@link #WAIT}, or the name of a group
     * @param label  what was done; for a wait, the group that is waited for
     */
    public record Span(String stream, String label, double start, double end) {
        /** Length in seconds. */
        public double seconds() {
            return end - start;
        }
    }

    /** Copies the spans. */
    public Timeline {
        spans = List.copyOf(spans);
    }

    /** Seconds of computation by label. */
    public Map<String, Double> computation() {
        return sums(COMPUTE);
    }

    /** Seconds in which computation waited, by group: communication that was not overlapped. */
    public Map<String, Double> exposed() {
        return sums(WAIT);
    }

    private Map<String, Double> sums(String stream) {
        Map<String, Double> sums = new TreeMap<>();
        spans.stream().filter(span -> span.stream().equals(stream))
            .forEach(span -> sums.merge(span.label(), span.seconds(), Double::sum));
        return sums;
    }
}
