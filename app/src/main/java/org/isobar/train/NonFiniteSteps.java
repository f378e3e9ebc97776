package org.isobar.train;

import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;

import org.isobar.config.keys.OnNan;
import org.isobar.train.diagnosis.FiniteLossCheck;
import org.isobar.train.diagnosis.NonFiniteLossException;
import org.isobar.train.step.BatchLoss;

/** Handles training steps whose loss is not finite ({@code --on_nan}): the run stops or skips them. */
final class NonFiniteSteps {
    private static final int MAX_CONSECUTIVE = 10; // training does not recover from more

    private final OnNan policy;
    private final FiniteLossCheck.Origin origin;
    private final Consumer<String> warnings;
    private final TrainingProgress progress;

    /**
     * Applies {@code policy} to the steps of a run.
     *
     * @param progress counts the consecutive steps whose loss is not finite
     * @param warnings receives a line for each skipped step
     */
    NonFiniteSteps(TrainingProgress progress, OnNan policy, FiniteLossCheck.Origin origin, Consumer<String> warnings) {
        this.progress = progress;
        this.policy = policy;
        this.origin = origin;
        this.warnings = warnings;
    }

    /**
     * Whether the loss counts; false if the step was skipped. Call it once for each step, in order. All ranks must call
     * it together.
     *
     * @param firstLayer finds the first layer whose output is not finite; called only if the policy is to stop
     * @throws org.isobar.train.diagnosis.NonFiniteLossException if the run must stop because of this loss
     */
    boolean counts(BatchLoss loss, DeferredLosses.Issued step, Supplier<Optional<String>> firstLayer) {
        progress.lossRead(Double.isFinite(loss.mean()));
        if (progress.badSteps() == 0) {
            return true;
        }
        String complaint = FiniteLossCheck.complaint(loss, "at step " + step.number(), step.samples(), origin);
        if (policy == OnNan.STOP) {
            throw new NonFiniteLossException(complaint + firstLayer.get().map(NonFiniteSteps::place).orElse(""),
                step.number());
        }
        if (progress.badSteps() >= MAX_CONSECUTIVE) {
            throw new NonFiniteLossException("the losses of " + progress.badSteps()
                + " steps in a row are not finite; the last: " + complaint, step.number());
        }
        warnings.accept("Step skipped: " + complaint);
        return false;
    }

    /**
     * Whether the run ends if the next loss is not finite. That loss must then be read before a further step is issued:
     * the further step could change the weights, so that the state before the bad step could not be saved.
     */
    boolean nextMayEndRun() {
        return progress.badSteps() >= MAX_CONSECUTIVE - 1;
    }

    private static String place(String layer) {
        return "; first layer whose output is not finite: " + layer;
    }
}
