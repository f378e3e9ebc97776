package org.isobar.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

import org.junit.jupiter.api.Test;

/** The status line of work in equal pieces. */
class CountProgressTest {
    private final AtomicLong clock = new AtomicLong();
    private final ByteArrayOutputStream terminal = new ByteArrayOutputStream();

    @Test
    void itShowsPiecesTheirTimeAndWhatIsLeft() {
        Screen screen = Screen.interactive(OutputStream.nullOutputStream(),
            new PrintStream(terminal, true, StandardCharsets.UTF_8));
        try (CountProgress progress = new CountProgress(screen, "step", 40, clock::get)) {
            after(500, progress);
            after(500, progress);
            after(10, progress); // too soon to draw
        }
        assertEquals("\r\033[Ka [                ] 1/40  0.50 s/step  0:20 left"
            + "\r\033[Ka [                ] 2/40  0.50 s/step  0:19 left\r\033[K",
            terminal.toString(StandardCharsets.UTF_8));
    }

    @Test
    void whatWasDoneBeforeIsNotLeft() {
        Screen screen = Screen.interactive(OutputStream.nullOutputStream(),
            new PrintStream(terminal, true, StandardCharsets.UTF_8));
        CountProgress progress = new CountProgress(screen, "step", 40, clock::get);
        progress.skip(38);
        after(500, progress);
        assertEquals("\r\033[Ka [========        ] 1/2  0.50 s/step  0:01 left",
            terminal.toString(StandardCharsets.UTF_8));
    }

    private void after(long millis, CountProgress progress) {
        clock.addAndGet(Duration.ofMillis(millis).toNanos());
        progress.one("a");
    }

    @Test
    void itDrawsNothingWithoutAStatusLine() {
        try (CountProgress progress = new CountProgress(Screen.plain(terminal), "step", 1, clock::get)) {
            after(500, progress);
        }
        assertEquals("", terminal.toString(StandardCharsets.UTF_8));
    }
}
