package org.isobar.train;

import java.util.Optional;

import org.isobar.optim.Adam;
import org.isobar.telemetry.PythonFormat;

/** What the log is told of steps that moved nothing, because a gradient had overflowed. */
final class SkippedSteps {
    private Adam.Progress last;

    /** Counts from there on. */
    SkippedSteps(Adam.Progress start) {
        last = start;
    }

    /** How steps had gone when the last epoch ended. */
    Adam.Progress last() {
        return last;
    }

    /** The line at the end of an epoch, if steps of it were skipped. */
    Optional<String> epoch(Adam.Progress progress) {
        Adam.Progress before = last;
        last = progress;
        return line("", new Adam.Progress(progress.taken() - before.taken(), progress.skipped() - before.skipped(),
            progress.scale()));
    }

    /** The line at the end of the run, if any step of it was skipped. */
    Optional<String> total() {
        return line(" in all", last);
    }

    private static Optional<String> line(String what, Adam.Progress steps) {
        return steps.skipped() == 0 ? Optional.empty() : Optional.of(
            "Gradients overflowed: %d of %d steps%s skipped, the loss scale is %s".formatted(steps.skipped(),
                steps.taken() + steps.skipped(), what, PythonFormat.repr(steps.scale())));
    }
}
