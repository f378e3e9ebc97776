package org.isobar.train;

import org.isobar.data.Batch;
import org.isobar.data.Era5Dataset;
import org.isobar.fault.UserException;
import org.isobar.tensor.DType;

/** Stops a run whose loss is NaN or infinite, and says whether the data or the training is to blame. */
final class FiniteLoss {
    private FiniteLoss() { }

    /** The replica that found a loss, and the data that its batch came from. */
    record Origin(Replica replica, Era5Dataset dataset) { }

    /**
     * Checks the loss of the last batch that the replica has seen.
     *
     * @param when in words, for the message
     * @throws UserException if it is not finite; names the sample and, in bad data, the place
     */
    static void require(double loss, String when, Batch batch, Origin origin) {
        if (!Double.isFinite(loss)) {
            int culprit = origin.replica.firstNonFiniteSample();
            if (culprit < 0) {
                throw new UserException("the loss is " + loss + " " + when
                    + ", from a sample of another replica, whose ranks say which");
            }
            long sample = batch.samples()[culprit];
            throw new UserException("the loss is " + loss + " " + when + ", sample " + sample + ": "
                + origin.dataset.firstNonFinite(sample)
                    .map(place -> "the data are not finite: " + place + "; mend the file, or leave the year out")
                    .orElse(ofFiniteData(origin.replica.compute())));
        }
    }

    /** Loss scaling is no help against what overflows forward. */
    private static String ofFiniteData(DType compute) {
        return compute == DType.F16
            ? "the data are finite, so training has diverged or a number has left the range of fp16; take --amp_mode "
                + "bf16, lower lr, or lengthen warmup"
            : "the data are finite, so training has diverged; lower lr, or lengthen warmup";
    }
}
