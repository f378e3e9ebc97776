package org.isobar.train.diagnosis;

import org.isobar.data.Era5Dataset;
import org.isobar.fault.UserException;
import org.isobar.tensor.DType;
import org.isobar.train.step.BatchLoss;
import org.isobar.train.step.Replica;

/** Stops a run whose loss is NaN or infinite, and says whether the data or the training is to blame. */
public final class FiniteLossCheck {
    private static final long NONE = -1;

    private FiniteLossCheck() { }

    /** The replica that found a loss, and the data that its batch came from. */
    public record Origin(Replica replica, Era5Dataset dataset) { }

    /**
     * Checks the loss of a batch. Where it is not finite, all replicas find that together and tell each other the
     * sample, so that each can name it, whichever of them is heard.
     *
     * @param when    in words, for the message
     * @param samples of this replica's part of the batch, by number
     * @throws UserException if the loss is not finite; names the sample and, in bad data, the place
     */
    public static void require(BatchLoss loss, String when, int[] samples, Origin origin) {
        if (!Double.isFinite(loss.mean())) {
            throw new UserException(complaint(loss, when, samples, origin));
        }
    }

    /** What that says; all replicas ask together. */
    public static String complaint(BatchLoss loss, String when, int[] samples, Origin origin) {
        int culprit = loss.firstNonFiniteSample();
        long sample = origin.replica.consensus().largestOfReplicas(culprit < 0 ? NONE : samples[culprit]);
        String what = "the loss is " + loss.mean() + " " + when;
        return sample == NONE ? what + ", though that of every sample is finite"
            : what + ", sample " + sample + ": " + origin.dataset.firstNonFinite(sample)
                .map(place -> "the data are not finite: " + place + "; mend the file, or leave the year out")
                .orElse(ofFiniteData(origin.replica.model().compute()));
    }

    /** Loss scaling is no help against what overflows forward. */
    private static String ofFiniteData(DType compute) {
        return compute == DType.F16
            ? "the data are finite, so training has diverged or a number has left the range of fp16; take --amp_mode "
                + "bf16, lower lr, or lengthen warmup"
            : "the data are finite, so training has diverged; lower lr, or lengthen warmup";
    }
}
