package org.isobar.train;

import java.util.function.Supplier;

import org.isobar.train.step.BatchLoss;

/**
 * The losses of one epoch's steps. Each is read when the step after it has been issued, so that a device which works
 * asynchronously always has work queued.
 */
final class DeferredLosses {
    private final Filter filter;
    private final Listener listener;
    private final LossSum losses;
    private Issued unread; // the step issued last, or null if its loss has been read

    /**
     * A step that was issued.
     *
     * @param number  of the step in the run, from 1
     * @param samples of this rank's batch, by their numbers in the data set
     * @param loss    waits for the step
     */
    record Issued(long number, int[] samples, Supplier<BatchLoss> loss) { }

    /** Decides about each loss in turn. */
    interface Filter {
        /**
         * Whether the loss counts towards the epoch's mean; false if the step was skipped.
         *
         * @throws org.isobar.fault.UserException if the loss ends the run
         */
        boolean counts(BatchLoss loss, Issued step);
    }

    /** Receives the loss of each step that was not skipped. */
    interface Listener {
        /** The loss of step {@code number} of the run, from 1. */
        void accept(long number, double loss);
    }

    /** Adds the losses that count to {@code losses}. */
    DeferredLosses(Filter filter, LossSum losses, Listener listener) {
        this.filter = filter;
        this.losses = losses;
        this.listener = listener;
    }

    /**
     * Takes the step that was just issued, and reads the loss of the step before it.
     *
     * @throws org.isobar.fault.UserException if that loss ends the run
     */
    void add(Issued step) {
        settle();
        unread = step;
    }

    /**
     * Reads the last loss, if it is still unread; all steps are done then.
     *
     * @throws org.isobar.fault.UserException if it ends the run
     */
    void settle() {
        if (unread != null) {
            BatchLoss loss = unread.loss().get();
            Issued step = unread;
            unread = null;
            if (filter.counts(loss, step)) {
                losses.add(loss.mean());
                listener.accept(step.number(), loss.mean());
            }
        }
    }
}
