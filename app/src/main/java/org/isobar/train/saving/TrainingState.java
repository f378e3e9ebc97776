package org.isobar.train.saving;

import org.isobar.optim.Adam;
import org.isobar.train.step.ValidationScores;

/**
 * Where a run is, besides its iteration and what its tensors hold: enough to go on as if nothing had happened.
 *
 * @param epoch    from 0
 * @param step     steps of it that are done; all of them before its validation
 * @param lossSum  the sum of their losses
 * @param losses   how many losses that sums up
 * @param badSteps steps in a row, up to there, whose loss was not finite
 * @param control  the numbers of the optimizer's {@link org.isobar.device.ops.StepControl}
 * @param progress of the optimizer when the epoch began
 * @param scores   of the last validation, or null
 * @param best     the best validation, or null
 * @param written  what the run had told
 * @param data     fingerprint of the training and validation data
 */
public record TrainingState(int epoch, int step, double lossSum, int losses, int badSteps, double[] control,
    Adam.Progress progress, ValidationScores scores, Best best, Written written, String data) {

    /** Of a run that has not begun. */
    public static final TrainingState BEGINNING =
        new TrainingState(0, 0, 0, 0, 0, new double[0], new Adam.Progress(0, 0, 1), null, null, null, "");

    /**
     * The validation with the least loss.
     *
     * @param iteration after which it was
     * @param loss      relative L2 loss
     */
    public record Best(long iteration, double loss) { }

    /**
     * How much a run had told.
     *
     * @param log    bytes of its log
     * @param board  name of its TensorBoard file
     * @param events bytes of that
     */
    public record Written(long log, String board, long events) { }
}
