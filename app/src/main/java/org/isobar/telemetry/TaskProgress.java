package org.isobar.telemetry;

import java.util.Locale;
import java.util.function.LongSupplier;

/**
 * Shows in the terminal's status line how many bytes of a task are done. Draws nothing on a screen without a status
 * line. Thread-safe.
 */
public final class TaskProgress implements AutoCloseable {
    private static final double GIGABYTE = 1e9;

    private final Screen screen;
    private final LongSupplier nanoTime;
    private final long start;
    private long lastDrawn;

    /** Creates the bar of a task that begins now. */
    public TaskProgress(Screen screen) {
        this(screen, System::nanoTime);
    }

    TaskProgress(Screen screen, LongSupplier nanoTime) {
        this.screen = screen;
        this.nanoTime = nanoTime;
        start = nanoTime.getAsLong();
        lastDrawn = start - ProgressBar.REDRAW_NANOS;
    }

    /** Shows that {@code done} of {@code total} bytes are done. Draws at most every 0.1 s. */
    public synchronized void done(long done, long total) {
        long now = nanoTime.getAsLong();
        if (screen.isInteractive() && now - lastDrawn >= ProgressBar.REDRAW_NANOS) {
            lastDrawn = now;
            double seconds = (now - start) / ProgressBar.NANOS_PER_SECOND;
            String line = String.format(Locale.ROOT, "%s %.2f/%.2f GB  %.2f GB/s  %s left",
                ProgressBar.cells(done, total), done / GIGABYTE, total / GIGABYTE,
                seconds > 0 ? done / seconds / GIGABYTE : 0,
                ProgressBar.clock(Math.round((total - done) * seconds / done)));
            screen.status(line.substring(0, Math.min(line.length(), ProgressBar.COLUMNS)));
        }
    }

    /** Clears the status line, so that other output can follow. */
    public void clear() {
        screen.status("");
    }

    /** Clears the status line. */
    @Override
    public void close() {
        clear();
    }
}
