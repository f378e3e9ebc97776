package org.isobar.train;

import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.Supplier;

import org.isobar.config.OnNan;
import org.isobar.fault.UserException;

/** What becomes of training steps whose loss is not finite: the first ends the run, or a row of them does. */
final class BadSteps {
    private static final int MOST_IN_A_ROW = 10; // by then it will not mend itself

    private final OnNan policy;
    private final FiniteLoss.Origin origin;
    private final Consumer<String> warnings;
    private int row;

    /** @param warnings told of each step that is skipped */
    BadSteps(OnNan policy, FiniteLoss.Origin origin, Consumer<String> warnings) {
        this.policy = policy;
        this.origin = origin;
        this.warnings = warnings;
    }

    /**
     * Whether the loss of a step, each of them in turn, is of account. All ranks ask together.
     *
     * @param firstLayer the first layer whose output was not finite; asked where the run ends
     * @throws NonFiniteLossException if this one ends the run
     * @throws UserException          if it is one too many in a row
     */
    boolean counts(BatchLoss loss, LateLosses.Issued step, Supplier<Optional<String>> firstLayer) {
        if (Double.isFinite(loss.mean())) {
            row = 0;
            return true;
        }
        String complaint = FiniteLoss.complaint(loss, "at step " + step.number(), step.samples(), origin);
        if (policy == OnNan.STOP) {
            throw new NonFiniteLossException(complaint + firstLayer.get().map(BadSteps::place).orElse(""),
                step.number());
        }
        row++;
        if (row == MOST_IN_A_ROW) {
            throw new UserException("the losses of " + row + " steps in a row are not finite; the last: " + complaint);
        }
        warnings.accept("Step skipped: " + complaint);
        return false;
    }

    private static String place(String layer) {
        return "; first layer whose output is not finite: " + layer;
    }
}
