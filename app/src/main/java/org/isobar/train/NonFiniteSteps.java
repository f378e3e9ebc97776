package org.isobar.train;

import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;

import org.isobar.config.keys.OnNan;
import org.isobar.train.diagnosis.FiniteLossCheck;
import org.isobar.train.diagnosis.NonFiniteLossException;
import org.isobar.train.step.BatchLoss;

/** What happens to training steps whose loss is not finite ({@code --on_nan}): the run stops, or skips them. */
final class NonFiniteSteps {
    private static final int MOST_IN_A_ROW = 10; // more will not recover

    private final OnNan policy;
    private final FiniteLossCheck.Origin origin;
    private final Consumer<String> warnings;
    private final TrainingProgress progress;

    /**
     * The policy of a run, whose {@code progress} counts the steps in a row that were not finite.
     *
     * @param warnings receives a line for each step that is skipped
     */
    NonFiniteSteps(TrainingProgress progress, OnNan policy, FiniteLossCheck.Origin origin, Consumer<String> warnings) {
        this.progress = progress;
        this.policy = policy;
        this.origin = origin;
        this.warnings = warnings;
    }

    /**
     * Whether the step with this loss was taken, called for each step in turn. All ranks call it together.
     *
     * @param firstLayer finds the first layer whose output was not finite; called if the run stops
     * @throws org.isobar.train.diagnosis.NonFiniteLossException if this loss ends the run
     */
    boolean counts(BatchLoss loss, DeferredLosses.Issued step, Supplier<Optional<String>> firstLayer) {
        progress.judged(Double.isFinite(loss.mean()));
        if (progress.badSteps() == 0) {
            return true;
        }
        String complaint = FiniteLossCheck.complaint(loss, "at step " + step.number(), step.samples(), origin);
        if (policy == OnNan.STOP) {
            throw new NonFiniteLossException(complaint + firstLayer.get().map(NonFiniteSteps::place).orElse(""),
                step.number());
        }
        if (progress.badSteps() >= MOST_IN_A_ROW) {
            throw new NonFiniteLossException("the losses of " + progress.badSteps()
                + " steps in a row are not finite; the last: " + complaint, step.number());
        }
        warnings.accept("Step skipped: " + complaint);
        return false;
    }

    private static String place(String layer) {
        return "; first layer whose output is not finite: " + layer;
    }
}
