package org.isobar.train.step;

import java.util.EnumMap;
import java.util.Map;

import org.isobar.device.ProfilerRanges;

/**
 * Adds up the time that the host spends in each phase of the training steps of one rank. A phase that is opened within
 * another interrupts it, so that the phases together are the wall-clock time. On a CPU these are the times of the
 * computation. On a GPU the host only issues it: it waits in {@link Phase#READ}. Used by one thread.
 */
public final class PhaseClock {
    private static final double NANOS_PER_SECOND = 1e9;

    private final long[] nanos = new long[Phase.values().length];
    private Phase current = Phase.OTHER;
    private long since = System.nanoTime();
    private Listener listener = (_, _, _) -> { };

    /** Phases of a training step. */
    public enum Phase {
        /** Waiting for a batch of the loader. */
        LOADER,
        /** Forward pass and loss. */
        FORWARD,
        /** Backward pass. */
        BACKWARD,
        /** Waiting for collectives. */
        COMMUNICATION,
        /** Update of the weights. */
        OPTIMIZER,
        /** Waiting for a result of the device. */
        READ,
        /** Saving checkpoints. */
        CHECKPOINT,
        /** Everything else. */
        OTHER
    }

    /** The time of each phase since the clock was made; the phases of two readings differ by those in between. */
    public record Reading(long[] nanos) {
        /** Seconds of each phase since an earlier reading. */
        public Map<Phase, Double> since(Reading earlier) {
            Map<Phase, Double> seconds = new EnumMap<>(Phase.class);
            for (Phase phase : Phase.values()) {
                seconds.put(phase, (nanos[phase.ordinal()] - earlier.nanos[phase.ordinal()]) / NANOS_PER_SECOND);
            }
            return seconds;
        }
    }

    /** Receives each uninterrupted piece of a phase. */
    public interface Listener {
        /** The phase took place from {@code start} to {@code end}, of {@link System#nanoTime}. */
        void phase(Phase phase, long start, long end);
    }

    /** Passes all further pieces to a listener, on the thread that uses the clock. */
    public void listen(Listener other) {
        listener = other;
    }

    /** Begins a phase, until the range is closed; then the phase that it interrupted continues. */
    public ProfilerRanges.Range open(Phase phase) {
        Phase interrupted = current;
        enter(phase);
        return () -> enter(interrupted);
    }

    private void enter(Phase phase) {
        long now = System.nanoTime();
        nanos[current.ordinal()] += now - since;
        listener.phase(current, since, now);
        current = phase;
        since = now;
    }

    /** The times so far. */
    public Reading read() {
        enter(current);
        return new Reading(nanos.clone());
    }
}
