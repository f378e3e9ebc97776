package org.isobar.train;

import org.isobar.train.step.ValidationScores;

/** How training ended. */
sealed interface TrainingOutcome {
    /**
     * With its last epoch.
     *
     * @param scores of the last validation
     */
    record Finished(ValidationScores scores) implements TrainingOutcome { }

    /**
     * Before, as it was asked to; a checkpoint is safe.
     *
     * @param iteration after which it was made
     */
    record Interrupted(long iteration) implements TrainingOutcome { }

    /**
     * Before, as it was asked to; there is no checkpoint to go on from that was not there before.
     *
     * @param reason why
     */
    record Lost(String reason) implements TrainingOutcome { }
}
