package org.isobar.train.trace;

import java.util.List;

/**
 * What one rank did in the traced steps. Times are those of its {@link System#nanoTime}.
 *
 * @param rank        the rank
 * @param barriers    when the rank left each of some barriers of all ranks
 * @param cut         whether there was more than this
 * @param spans       what its threads and its device did
 * @param collectives what it exchanged with other ranks
 */
record RankTimeline(int rank, long[] barriers, boolean cut, List<Span> spans, List<Exchange> collectives) {
    /**
     * Something that took time.
     *
     * @param lane  who did it: {@link StepTracer#STEPS} and others, or the name of a thread
     * @param name  what it did
     * @param start when it began
     * @param nanos how long it took
     */
    record Span(String lane, String name, long start, long nanos) { }

    /**
     * A collective, or a message between two ranks.
     *
     * @param group    name of the group, such as dp
     * @param id       of the group, the same on all of its ranks
     * @param kind     kind of operation
     * @param number   sequence number in the group
     * @param paired   whether it is between two ranks
     * @param bytes    of the tensors of all ranks
     * @param issued   when the rank issued it
     * @param awaited  when the host began to wait for it
     * @param finished when the host no longer waited for it
     */
    record Exchange(String group, String id, String kind, long number, boolean paired, long bytes, long issued,
        long awaited, long finished) { }
}
