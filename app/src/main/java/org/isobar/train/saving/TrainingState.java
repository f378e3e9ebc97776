package org.isobar.train.saving;

import org.isobar.optim.Adam;
import org.isobar.train.step.ValidationScores;

/**
 * State of the training loop in a checkpoint. With the iteration and the tensors, it determines how the run continues:
 * a resumed run does the same steps as one that was not interrupted.
 *
 * @param epoch    from 0
 * @param step     steps done in this epoch; before its validation, the number of steps of an epoch
 * @param lossSum  sum of the losses of these steps
 * @param losses   number of losses in {@code lossSum}
 * @param badSteps number of consecutive steps, up to the last one, whose loss was not finite
 * @param control  values of the optimizer's {@link org.isobar.device.ops.StepControl}
 * @param progress the optimizer's progress at the start of the epoch
 * @param scores   scores of the last validation, or null
 * @param best     the best validation, or null
 * @param written  lengths of the run's log and event files
 * @param data     fingerprint of the training and validation data
 * @param attention engine of attention, {@link #OWN_KERNELS}, or a library with its version, such as "cuDNN 9.19.0"
 * @param products what computed matrix products, {@link #OWN_KERNELS}, or a library with its version and the choice of
 *                 its algorithms, such as "cuBLASLt 13.2.1 heuristic"
 */
public record TrainingState(int epoch, int step, double lossSum, int losses, int badSteps, double[] control,
    Adam.Progress progress, ValidationScores scores, Best best, Written written, String data,
    String attention, String products) {

    /** The name of the device's own kernels as an engine. */
    public static final String OWN_KERNELS = "isobar";

    /** What computed the products of a checkpoint that does not say it. */
    public static final String UNKNOWN = "unknown";

    /** The state of a run before its first step. */
    public static final TrainingState BEGINNING =
        new TrainingState(0, 0, 0, 0, 0, new double[0], new Adam.Progress(0, 0, 1), null, null, null, "",
            OWN_KERNELS, OWN_KERNELS);

    /**
     * The validation with the lowest loss.
     *
     * @param iteration number of training steps done before it
     * @param loss      relative L2 loss
     */
    public record Best(long iteration, double loss) { }

    /**
     * Lengths of a run's output files when the checkpoint was saved. A resumed run continues the files from there.
     *
     * @param log    length of the log in bytes
     * @param board  name of the TensorBoard event file
     * @param events length of the event file in bytes
     */
    public record Written(long log, String board, long events) { }
}
