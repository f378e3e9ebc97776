package org.isobar.train;

/** How training ended. */
sealed interface Outcome {
    /**
     * With its last epoch.
     *
     * @param scores of the last validation
     */
    record Finished(Validator.Scores scores) implements Outcome { }

    /**
     * Before, as it was asked to; a checkpoint is safe.
     *
     * @param iteration after which it was made
     */
    record Interrupted(long iteration) implements Outcome { }

    /**
     * Before, as it was asked to; there is no checkpoint to go on from that was not there before.
     *
     * @param reason why
     */
    record Lost(String reason) implements Outcome { }
}
