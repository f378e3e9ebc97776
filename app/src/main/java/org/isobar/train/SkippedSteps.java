package org.isobar.train;

import java.util.Optional;

import org.isobar.optim.Adam;
import org.isobar.telemetry.PythonFormat;

/** Log lines about steps that were skipped because a gradient had overflowed, or a loss was not finite. */
final class SkippedSteps {
    private Adam.Progress last;

    /** Counts the steps after {@code start}. */
    SkippedSteps(Adam.Progress start) {
        last = start;
    }

    /** Numbers of taken and skipped steps of the run at the end of the last epoch. */
    Adam.Progress last() {
        return last;
    }

    /** The line for the epoch that has ended, if any of its steps were skipped. */
    Optional<String> epoch(Adam.Progress progress) {
        Adam.Progress before = last;
        last = progress;
        return line("", new Adam.Progress(progress.taken() - before.taken(), progress.skipped() - before.skipped(),
            progress.scale()));
    }

    /** The line for the whole run, if any of its steps were skipped. */
    Optional<String> total() {
        return line(" in total", last);
    }

    private static Optional<String> line(String extent, Adam.Progress steps) {
        if (steps.skipped() == 0) {
            return Optional.empty();
        }
        String counts = "%d of %d steps%s skipped".formatted(steps.skipped(), steps.taken() + steps.skipped(), extent);
        return Optional.of(steps.scale() == 1 ? "Losses or gradients were not finite: " + counts
            : "Gradients overflowed: " + counts + ", the loss scale is " + PythonFormat.repr(steps.scale()));
    }
}
