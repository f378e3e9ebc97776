package org.isobar.backend.cuda.nccl;

import org.isobar.distributed.CollectiveCall;
import org.isobar.distributed.ProcessGroup;

/** One or more collectives that a communicator issues as a single operation, with the events around them. */
final class NcclOperation {
    private NcclEvents events;
    private CollectiveCall first;
    private int more;
    private String place; // while the host waits, this is asked for hundreds of times a second

    /** An operation without collectives yet. */
    NcclOperation(NcclEvents events) {
        this.events = events;
    }

    /** Adds a collective to this operation. */
    void add(CollectiveCall collective) {
        if (first == null) {
            first = collective;
        } else {
            more++;
        }
        place = null;
    }

    /** The events around this operation; null once it is done and they have been reused. */
    NcclEvents events() {
        return events;
    }

    /** Marks this operation as done and returns its events for reuse. */
    NcclEvents releaseEvents() {
        NcclEvents released = events;
        events = null;
        return released;
    }

    /** Names this operation for messages: {@code rank 1, group tp [0, 1], operation 7 (all-reduce of 1000 F32)}. */
    String place(ProcessGroup group) {
        if (place == null) {
            place = place(group, first) + (more > 0 ? " and " + more + " more" : "");
        }
        return place;
    }

    /** Names a collective for messages, or only this rank if {@code collective} is null. */
    static String place(ProcessGroup group, CollectiveCall collective) {
        return collective == null ? "rank " + group.rank() + ", " + group : collective.place(group);
    }
}
