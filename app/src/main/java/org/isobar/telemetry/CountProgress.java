package org.isobar.telemetry;

import java.util.Locale;
import java.util.function.LongSupplier;

/**
 * Shows in the terminal's status line how many of a number of equal pieces of work are done. Draws nothing on a screen
 * without a status line.
 */
public final class CountProgress implements AutoCloseable {
    private final Screen screen;
    private final String piece;
    private long total;
    private final LongSupplier nanoTime;
    private final long start;
    private long lastDrawn;
    private long done;

    /**
     * Creates the bar of work that begins now.
     *
     * @param piece name of a piece
     * @param total number of pieces
     */
    public CountProgress(Screen screen, String piece, long total) {
        this(screen, piece, total, System::nanoTime);
    }

    CountProgress(Screen screen, String piece, long total, LongSupplier nanoTime) {
        this.screen = screen;
        this.piece = piece;
        this.total = total;
        this.nanoTime = nanoTime;
        start = nanoTime.getAsLong();
        lastDrawn = start - ProgressBar.REDRAW_NANOS;
    }

    /**
     * Shows that one more piece is done. Draws at most every 0.1 s.
     *
     * @param what the piece, as text
     */
    public void one(String what) {
        done++;
        long now = nanoTime.getAsLong();
        if (screen.isInteractive() && now - lastDrawn >= ProgressBar.REDRAW_NANOS) {
            lastDrawn = now;
            double seconds = (now - start) / ProgressBar.NANOS_PER_SECOND;
            String line = String.format(Locale.ROOT, "%s %s %d/%d  %.2f s/%s  %s left", what,
                ProgressBar.cells(done, total), done, total, seconds / done, piece,
                ProgressBar.clock(Math.round((total - done) * seconds / done)));
            screen.status(line.substring(0, Math.min(line.length(), ProgressBar.COLUMNS)));
        }
    }

    /** Takes pieces from the total, because they were done before. */
    public void skip(long pieces) {
        total -= pieces;
    }

    /** Clears the status line. */
    @Override
    public void close() {
        screen.status("");
    }
}
