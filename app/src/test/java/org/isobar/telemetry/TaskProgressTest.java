package org.isobar.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicLong;

import org.junit.jupiter.api.Test;

/** Checks the bytes that a terminal receives, with a clock of the test. */
class TaskProgressTest {
    private static final String ERASE = "\r\033[K";
    private static final long SECOND = 1_000_000_000;

    private final ByteArrayOutputStream terminal = new ByteArrayOutputStream();
    private final AtomicLong nanos = new AtomicLong();

    @Test
    void showsBytesSpeedAndRemainingTime() {
        Screen screen = Screen.interactive(terminal, new PrintStream(terminal, true, StandardCharsets.UTF_8));
        try (TaskProgress progress = new TaskProgress(screen, nanos::get)) {
            nanos.addAndGet(10 * SECOND);
            progress.done(5_000_000_000L, 20_000_000_000L);
            progress.done(5_000_000_001L, 20_000_000_000L); // less than 0.1 s later
        }
        assertEquals(ERASE + "[====            ] 5.00/20.00 GB  0.50 GB/s  0:30 left" + ERASE,
            terminal.toString(StandardCharsets.UTF_8));
    }

    @Test
    void drawsNothingWithoutATerminal() {
        try (TaskProgress progress = new TaskProgress(Screen.plain(terminal), nanos::get)) {
            progress.done(1, 2);
        }
        assertEquals(0, terminal.size());
    }
}
