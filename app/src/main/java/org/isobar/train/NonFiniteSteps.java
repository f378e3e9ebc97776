package org.isobar.train;

import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;

import org.isobar.config.keys.OnNan;
import org.isobar.train.diagnosis.FiniteLossCheck;
import org.isobar.train.diagnosis.NonFiniteLossException;
import org.isobar.train.step.BatchLoss;

/** What becomes of training steps whose loss is not finite: the first ends the run, or a row of them does. */
final class NonFiniteSteps {
    private static final int MOST_IN_A_ROW = 10; // by then it will not mend itself

    private final OnNan policy;
    private final FiniteLossCheck.Origin origin;
    private final Consumer<String> warnings;
    private final TrainingProgress course;

    /**
     * Judges the steps of a course, which keeps count.
     *
     * @param warnings told of each step that is skipped
     */
    NonFiniteSteps(TrainingProgress course, OnNan policy, FiniteLossCheck.Origin origin, Consumer<String> warnings) {
        this.course = course;
        this.policy = policy;
        this.origin = origin;
        this.warnings = warnings;
    }

    /**
     * Whether the loss of a step, each of them in turn, is of account. All ranks ask together.
     *
     * @param firstLayer the first layer whose output was not finite; asked where the run ends
     * @throws NonFiniteLossException if this one ends the run
     */
    boolean counts(BatchLoss loss, DeferredLosses.Issued step, Supplier<Optional<String>> firstLayer) {
        course.judged(Double.isFinite(loss.mean()));
        if (course.badSteps() == 0) {
            return true;
        }
        String complaint = FiniteLossCheck.complaint(loss, "at step " + step.number(), step.samples(), origin);
        if (policy == OnNan.STOP) {
            throw new NonFiniteLossException(complaint + firstLayer.get().map(NonFiniteSteps::place).orElse(""),
                step.number());
        }
        if (course.badSteps() >= MOST_IN_A_ROW) {
            throw new NonFiniteLossException("the losses of " + course.badSteps()
                + " steps in a row are not finite; the last: " + complaint, step.number());
        }
        warnings.accept("Step skipped: " + complaint);
        return false;
    }

    private static String place(String layer) {
        return "; first layer whose output is not finite: " + layer;
    }
}
