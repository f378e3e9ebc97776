package org.isobar.telemetry;

import java.time.Duration;
import java.util.Locale;
import java.util.function.LongSupplier;

/**
 * Shows the progress of one epoch in the terminal's status line. Draws nothing on a screen without a status line.
 */
public final class ProgressBar implements AutoCloseable {
    static final long REDRAW_NANOS = Duration.ofMillis(100).toNanos();
    static final double NANOS_PER_SECOND = 1e9;
    private static final int CELLS = 16;
    static final int COLUMNS = 79;

    private final Screen screen;
    private final LongSupplier nanoTime;
    private final Plan plan;
    private final long start;
    private long lastDrawn;

    /**
     * What an epoch's bar shows.
     *
     * @param epochs  number of epochs of the run
     * @param steps   training steps of an epoch
     * @param samples samples of a step
     * @param done    steps of this epoch that an earlier process has done
     */
    public record Plan(int epochs, int steps, int samples, int done) { }

    /** Creates the bar of one epoch. The speed is measured from this call. */
    public ProgressBar(Screen screen, Plan plan) {
        this(screen, plan, System::nanoTime);
    }

    ProgressBar(Screen screen, Plan plan, LongSupplier nanoTime) {
        this.screen = screen;
        this.plan = plan;
        this.nanoTime = nanoTime;
        start = nanoTime.getAsLong();
        lastDrawn = start - REDRAW_NANOS;
    }

    /**
     * Shows that training step {@code step} of {@code epoch} is done, both counted from 1. Draws at most every 0.1 s.
     */
    public void step(int epoch, int step, double loss) {
        long now = nanoTime.getAsLong();
        if (screen.isInteractive() && now - lastDrawn >= REDRAW_NANOS) {
            lastDrawn = now;
            screen.status(line(epoch, step, loss, (now - start) / NANOS_PER_SECOND));
        }
    }

    /** Clears the status line. */
    @Override
    public void close() {
        screen.status("");
    }

    private String line(int epoch, int step, double loss, double seconds) {
        int timed = step - plan.done;
        double samplesPerSecond = seconds > 0 ? timed * (double) plan.samples / seconds : 0;
        long stepsLeft = (plan.epochs - epoch) * (long) plan.steps + plan.steps - step;
        String line = String.format(Locale.ROOT, "epoch %d/%d %s %d/%d  loss %.4f  %.1f samples/s  %s left",
            epoch, plan.epochs, cells(step, plan.steps), step, plan.steps, loss, samplesPerSecond,
            clock(Math.round(stepsLeft * seconds / timed)));
        return line.substring(0, Math.min(line.length(), COLUMNS)); // a wrapped line could not be erased
    }

    /** A bar that is filled as {@code done} of {@code total}. */
    static String cells(long done, long total) {
        int filled = (int) (CELLS * done / total);
        return "[" + "=".repeat(filled) + " ".repeat(CELLS - filled) + "]";
    }

    /** A time as hours, minutes and seconds. */
    static String clock(long seconds) {
        Duration left = Duration.ofSeconds(seconds);
        return left.toHours() == 0 ? "%d:%02d".formatted(left.toMinutes(), left.toSecondsPart())
            : "%d:%02d:%02d".formatted(left.toHours(), left.toMinutesPart(), left.toSecondsPart());
    }
}
