package org.isobar.train;

import org.isobar.data.DataLoader;
import org.isobar.data.DatasetFingerprint;
import org.isobar.fault.UserException;

/**
 * The data of a run.
 *
 * @param training    batches to train with
 * @param validation  batches to score with
 * @param fingerprint identifies these data
 */
record LoaderPair(DataLoader training, DataLoader validation, String fingerprint) {
    /** The loaders with a fingerprint, for which some of the data are read. */
    static LoaderPair of(DataLoader training, DataLoader validation) {
        return new LoaderPair(training, validation, "training " + DatasetFingerprint.of(training.dataset())
            + "; validation " + DatasetFingerprint.of(validation.dataset()));
    }

    /**
     * Whole epochs in a number of training steps.
     *
     * @throws UserException if there is not one
     */
    int epochs(long iterations) {
        if (iterations < training.steps()) {
            throw new UserException("num_iters " + iterations + " is less than one epoch of " + training.steps()
                + " steps: nothing would be trained; raise --num_iters or lower limit_nsamples");
        }
        return Math.toIntExact(iterations / training.steps());
    }
}
