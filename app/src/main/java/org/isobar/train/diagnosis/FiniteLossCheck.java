package org.isobar.train.diagnosis;

import org.isobar.data.Batch;
import org.isobar.fault.UserException;
import org.isobar.tensor.DType;
import org.isobar.train.step.BatchLoss;
import org.isobar.train.step.Replica;

/** Checks that the loss is finite. If it is not, reports whether the data or the training is the cause. */
public final class FiniteLossCheck {
    private static final long NONE = -1;

    private FiniteLossCheck() { }

    /** The replica that computed a loss, and the source of its batch. */
    public record Origin(Replica replica, Batch.Source batches) { }

    /**
     * Checks the loss of a batch; a collective call of all replicas. If the loss is not finite, the replicas agree on
     * one bad sample, so that the error of each rank names it.
     *
     * @param when    step or phase, for the message
     * @param samples dataset indices of this replica's samples of the batch
     * @throws UserException if the loss is not finite; names the sample and, if its data are not finite, the position
     */
    public static void require(BatchLoss loss, String when, int[] samples, Origin origin) {
        if (!Double.isFinite(loss.mean())) {
            throw new UserException(complaint(loss, when, samples, origin));
        }
    }

    /** The message for a loss that is not finite; a collective call of all replicas. */
    public static String complaint(BatchLoss loss, String when, int[] samples, Origin origin) {
        int bad = loss.firstNonFiniteSample();
        long sample = origin.replica.consensus().largestOfReplicas(bad < 0 ? NONE : samples[bad]);
        String what = "the loss is " + loss.mean() + " " + when;
        return sample == NONE ? what + ", although the loss of every sample is finite"
            : what + ", sample " + sample + ": " + origin.batches.firstNonFinite(sample)
                .map(place -> "the data are not finite: " + place + "; repair the file, or leave the year out")
                .orElse(ofFiniteData(origin.replica.model().compute()));
    }

    /** With fp16, the forward pass itself can overflow. Loss scaling only protects the backward pass. */
    private static String ofFiniteData(DType compute) {
        return compute == DType.F16
            ? "the data are finite, so training has diverged or a value exceeds the range of fp16; use --amp_mode "
                + "bf16, lower lr, or lengthen warmup"
            : "the data are finite, so training has diverged; lower lr, or lengthen warmup";
    }
}
