package org.isobar.train;

import java.util.function.Supplier;

import org.isobar.train.step.BatchLoss;

/**
 * Reads the losses of one epoch's steps, each after the next step has been issued, so that an asynchronous device
 * always has work queued.
 */
final class DeferredLosses {
    private final Filter filter;
    private final Listener listener;
    private final LossSum losses;
    private Issued unread; // the step issued last, or null if its loss has been read

    /**
     * An issued step.
     *
     * @param number  number of the step in the run, from 1
     * @param samples indices in the data set of the samples of this rank's batch
     * @param loss    waits for the step and returns its loss
     */
    record Issued(long number, int[] samples, Supplier<BatchLoss> loss) { }

    /** Decides for each loss, in the order of the steps, whether it counts. */
    interface Filter {
        /**
         * Whether the loss is included in the epoch's mean; false if the step was skipped.
         *
         * @throws org.isobar.fault.UserException if the run must stop because of the loss
         */
        boolean counts(BatchLoss loss, Issued step);
    }

    /** Receives the loss of each step that was not skipped. */
    interface Listener {
        /** Receives the loss of step {@code number} of the run, from 1. */
        void accept(long number, double loss);
    }

    /** Adds the losses that {@code filter} accepts to {@code losses} and passes them to {@code listener}. */
    DeferredLosses(Filter filter, LossSum losses, Listener listener) {
        this.filter = filter;
        this.losses = losses;
        this.listener = listener;
    }

    /**
     * Reads the loss of the previous step and keeps the step that was just issued.
     *
     * @throws org.isobar.fault.UserException if the run must stop because of that loss
     */
    void add(Issued step) {
        settle();
        unread = step;
    }

    /**
     * Reads the loss of the last step, if it is unread, which waits for all issued steps.
     *
     * @throws org.isobar.fault.UserException if the run must stop because of it
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
