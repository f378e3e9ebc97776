package org.isobar.train.collectives;

import java.util.Locale;

import org.isobar.distributed.CollectiveCall;
import org.isobar.distributed.CollectiveCall.Kind;
import org.isobar.tensor.Tensor;

/**
 * What a rank does to one of its groups: it opens the communicator, or issues a call.
 *
 * @param group  name of the group, the grid axes along which it extends; a rank is in one group of each name
 * @param call   the call; null if the rank opens the group
 * @param phase  part of the run, for messages
 * @param tensor tensor of the call, or its output; null if there is none
 */
public record CollectiveEvent(String group, CollectiveCall call, String phase, Tensor tensor) {
    /** Whether the rank opens the group. */
    public boolean opens() {
        return call == null;
    }

    /** Whether this is a send or a receive: only two ranks of the group take part. */
    boolean isPair() {
        return call != null && (call.kind() == Kind.SEND || call.kind() == Kind.RECEIVE);
    }

    /** Whether another member of the group may have this event where this rank has its own. */
    public boolean matches(CollectiveEvent other) {
        return this == other || group.equals(other.group)
            && (opens() ? other.opens() : !other.opens() && call.equals(other.call));
    }

    /** The event with what distinguishes it from another of its kind and size, and its phase. */
    @Override
    public String toString() {
        return (opens() ? "opening the group" : call + details()) + ", in phase '" + phase + "'";
    }

    private String details() {
        String parts = call.kind() == Kind.ALL_REDUCE || call.even() ? "" : ", parts " + call.parts();
        return switch (call.kind()) {
            case ALL_REDUCE, REDUCE_SCATTER -> ", " + call.reduction().kind().name().toLowerCase(Locale.ROOT)
                + (call.reduction().factor() == 1 ? "" : " times " + call.reduction().factor()) + parts;
            case BROADCAST -> ", root " + call.root();
            case SEND -> " to index " + call.root();
            case RECEIVE -> " from index " + call.root();
            case ALL_GATHER, BARRIER -> parts;
        };
    }
}
