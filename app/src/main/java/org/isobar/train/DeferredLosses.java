package org.isobar.train;

import java.util.function.Supplier;

import org.isobar.train.step.BatchLoss;
import org.isobar.train.step.RunSignal;

/**
 * The losses of one epoch's steps. The host looks at each of them when it has issued the step after, so that a device
 * which works by itself never runs out of work.
 */
final class DeferredLosses {
    private final Judge judge;
    private final Listener listener;
    private final LossSum losses;
    private Issued late; // whose loss nobody has looked at, or null
    private RunSignal wish = RunSignal.NOTHING;
    private long wisher;

    /**
     * A step that was issued.
     *
     * @param number  of the step in the run, from 1
     * @param samples of this rank's batch, which somebody else's may have replaced by now
     * @param loss    waits for it
     */
    record Issued(long number, int[] samples, Supplier<BatchLoss> loss) { }

    /** Looks at each loss in turn. */
    interface Judge {
        /**
         * Whether it is of account.
         *
         * @throws org.isobar.fault.UserException if it ends the run
         */
        boolean counts(BatchLoss loss, Issued step);
    }

    /** Told of each loss that counts. */
    interface Listener {
        /** That of step {@code number} of the run, from 1. */
        void accept(long number, double loss);
    }

    /** Adds the losses that count to {@code losses}. */
    DeferredLosses(Judge judge, LossSum losses, Listener listener) {
        this.judge = judge;
        this.losses = losses;
        this.listener = listener;
    }

    /**
     * Takes note of a step and looks at the loss of the one before it.
     *
     * @throws org.isobar.fault.UserException if that ends the run
     */
    void add(Issued step) {
        settle();
        late = step;
    }

    /**
     * Looks at the last loss, if nobody has: all steps are done then.
     *
     * @throws org.isobar.fault.UserException if it ends the run
     */
    void settle() {
        if (late != null) {
            BatchLoss loss = late.loss().get();
            Issued step = late;
            late = null;
            if (judge.counts(loss, step)) {
                losses.add(loss.mean());
                listener.accept(step.number(), loss.mean());
            }
            wish = loss.wish();
            wisher = step.number();
        }
    }

    /** The greatest wish of all ranks in the last step that was looked at. */
    RunSignal wish() {
        return wish;
    }

    /** The number of that step. */
    long wisher() {
        return wisher;
    }
}
