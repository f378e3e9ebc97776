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
     * Before, as it was asked to; the steps since the last checkpoint are lost.
     *
     * @param reason why they could not be saved
     */
    record Lost(String reason) implements Outcome { }
}
