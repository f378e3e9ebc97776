package org.isobar.train;

import org.isobar.train.step.ValidationScores;

/** The result of training. */
sealed interface TrainingOutcome {
    /**
     * All epochs are trained.
     *
     * @param scores scores of the last validation
     */
    record Finished(ValidationScores scores) implements TrainingOutcome { }

    /**
     * Training was stopped by a request and has saved a checkpoint.
     *
     * @param iteration iteration after which the checkpoint was made
     */
    record Interrupted(long iteration) implements TrainingOutcome { }

    /**
     * Training was stopped by a request and has saved no new checkpoint.
     *
     * @param reason why no checkpoint was saved
     */
    record Lost(String reason) implements TrainingOutcome { }
}
