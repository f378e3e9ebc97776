package org.isobar.train;

import java.util.Optional;

import org.isobar.config.RunConfig;
import org.isobar.data.Batch;
import org.isobar.data.DataLoader;
import org.isobar.data.DatasetFingerprint;
import org.isobar.data.InputDescription;
import org.isobar.fault.UserException;

/**
 * The data loaders of a run.
 *
 * @param training    training batches
 * @param validation  validation batches
 * @param fingerprint identifies the data on rank 0, to compare them with those of a checkpoint; empty on other ranks
 * @param inputs      describes the inputs; null in a dry run, which has no data
 * @param rollOuts    opens the fields of roll-outs
 */
record LoaderPair(Batch.Source training, Batch.Source validation, String fingerprint, InputDescription inputs,
    RollOutFields.Source rollOuts) {
    /** Creates a pair with its fingerprint, for which rank 0 reads some of the data. */
    static LoaderPair of(RunConfig config, DataLoader training, DataLoader validation) {
        InputDescription inputs = training.dataset().inputs();
        String fingerprint = config.ranks().rank() > 0 ? "" : "training " + DatasetFingerprint.of(training.dataset())
            + "; validation " + DatasetFingerprint.of(validation.dataset());
        return new LoaderPair(training, validation, fingerprint, inputs, RollOutYears.of(config, inputs));
    }

    /**
     * The number of whole epochs in a number of training steps.
     *
     * @throws UserException if it is 0
     */
    int epochs(long iterations) {
        if (iterations < training.steps()) {
            throw new UserException("num_iters " + iterations + " is less than one epoch of " + training.steps()
                + " steps: nothing would be trained; raise --num_iters or lower limit_nsamples");
        }
        return Math.toIntExact(iterations / training.steps());
    }

    /** A line that says how many steps are trained; empty if those are all of {@code iterations}. */
    Optional<String> shortened(long iterations) {
        long trained = (long) epochs(iterations) * training.steps();
        return trained == iterations ? Optional.empty() : Optional.of("Training %d of num_iters %d steps: whole epochs "
            .formatted(trained, iterations) + "of " + training.steps() + " steps");
    }
}
