package org.isobar.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;

import org.junit.jupiter.api.Test;

/** Checks the bytes that a terminal receives, with a clock of the test. */
class ProgressBarTest {
    private static final String ERASE = "\r\033[K";
    private static final long MILLISECOND = 1_000_000;

    private final ByteArrayOutputStream terminal = new ByteArrayOutputStream();
    private final AtomicLong nanos = new AtomicLong();

    private ProgressBar bar(Screen screen, int epochs, int steps, int samples) {
        return new ProgressBar(screen, new ProgressBar.Plan(epochs, steps, samples, 0), nanos::get);
    }

    private Screen screen() {
        return Screen.interactive(terminal, new PrintStream(terminal, true, StandardCharsets.UTF_8));
    }

    private String shown() {
        String text = terminal.toString(StandardCharsets.UTF_8);
        terminal.reset();
        return text;
    }

    @Test
    void showsEpochStepLossSpeedAndRemainingTime() {
        ProgressBar bar = bar(screen(), 3, 100, 4);
        nanos.addAndGet(10_000 * MILLISECOND);
        bar.step(1, 25, 0.98765);
        assertEquals(ERASE + "epoch 1/3 [====            ] 25/100  loss 0.9877  10.0 samples/s  1:50 left", shown());
        bar = bar(screen(), 3, 100, 4);
        nanos.addAndGet(2_000_000 * MILLISECOND);
        bar.step(3, 50, 0.5);
        assertEquals(ERASE + "epoch 3/3 [========        ] 50/100  loss 0.5000  0.1 samples/s  33:20 left", shown());
        bar = bar(screen(), 3, 100, 4);
        nanos.addAndGet(2_000_000 * MILLISECOND);
        bar.step(1, 50, 0.5);
        assertTrue(shown().endsWith(" 2:46:40 left"));
        bar.close();
        assertEquals(ERASE, shown());
        bar.close();
        assertEquals("", shown());
    }

    /** Speed and remaining time are those of the steps since the run has resumed. */
    @Test
    void anEarlierProcessHasDoneSteps() {
        ProgressBar bar = new ProgressBar(screen(), new ProgressBar.Plan(1, 100, 4, 40), nanos::get);
        nanos.addAndGet(10_000 * MILLISECOND);
        bar.step(1, 50, 0.5);
        assertEquals(ERASE + "epoch 1/1 [========        ] 50/100  loss 0.5000  4.0 samples/s  0:50 left", shown());
    }

    @Test
    void drawsAtMostTenTimesASecond() {
        ProgressBar bar = bar(screen(), 1, 1000, 1);
        int drawn = 0;
        for (int step = 1; step <= 1000; step++) {
            nanos.addAndGet(MILLISECOND);
            bar.step(1, step, 1);
            drawn += shown().isEmpty() ? 0 : 1;
        }
        assertEquals(10, drawn);
    }

    @Test
    void isErasedBeforeLogLines() {
        Screen screen = screen();
        ProgressBar bar = bar(screen, 1, 10, 1);
        try (RunLog log = new RunLog(screen)) {
            bar.step(1, 1, 1);
            String line = shown();
            log.info("message");
            String text = shown();
            assertTrue(text.matches("(?s)" + quote(ERASE) + ".* - root - INFO - message\n" + quote(line)), text);
            bar.close();
            shown();
            log.info("alone");
            assertFalse(shown().contains("\033"));
        }
    }

    @Test
    void isNotWiderThanATerminal() {
        ProgressBar bar = bar(screen(), 1000, 1_000_000, 1000);
        nanos.addAndGet(1000 * MILLISECOND);
        bar.step(100, 100_000, 123456.789);
        assertEquals(ERASE.length() + 79, shown().length());
    }

    @Test
    void drawsNothingWithoutAStatusLine() {
        ProgressBar bar = bar(Screen.plain(terminal), 1, 10, 1);
        bar.step(1, 1, 1);
        bar.close();
        assertEquals("", shown());
    }

    @Test
    void slurmAndDumbTerminalsHaveNoStatusLine() {
        assertTrue(Screen.supportsStatusLine(Map.of("TERM", "xterm-256color", "HOME", "/")));
        assertFalse(Screen.supportsStatusLine(Map.of("TERM", "xterm", "SLURM_JOB_ID", "7")));
        assertFalse(Screen.supportsStatusLine(Map.of("TERM", "dumb")));
        assertFalse(Screen.supportsStatusLine(Map.of()));
    }

    private static String quote(String text) {
        return Pattern.quote(text);
    }
}
