package org.isobar.train;

import java.util.Optional;

import org.isobar.train.step.ValidationScores;

/** The result of training. */
sealed interface TrainingOutcome {
    /**
     * All epochs are trained.
     *
     * @param scores  scores of the last validation
     * @param unsaved why the last checkpoint was not saved; empty if it was
     */
    record Finished(ValidationScores scores, Optional<String> unsaved) implements TrainingOutcome { }

    /**
     * Training was stopped by a request and has saved a checkpoint.
     *
     * @param iteration iteration after which the checkpoint was made
     */
    record Interrupted(long iteration) implements TrainingOutcome { }

    /**
     * Training was stopped by a request before its first step.
     *
     * @param reason why no checkpoint was saved
     */
    record Lost(String reason) implements TrainingOutcome { }

    /**
     * Training was stopped by a request, and its last checkpoint could not be saved.
     *
     * @param reason why it was not saved
     */
    record Unsaved(String reason) implements TrainingOutcome { }

    /** The name of this result in metrics. */
    default String name() {
        return switch (this) {
            case Finished _ -> "finished";
            case Interrupted _ -> "interrupted";
            case Lost _ -> "lost";
            case Unsaved _ -> "unsaved";
        };
    }
}
