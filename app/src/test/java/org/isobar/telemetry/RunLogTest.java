package org.isobar.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;

/** Checks the lines on screen and in the file, resuming, and failures. */
@Isolated("replaces System.err")
class RunLogTest {
    private static final Pattern LINE =
        Pattern.compile("(\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d:\\d\\d,\\d{3}) - root - (\\w+) - (.*)");

    @TempDir
    private Path directory;

    private final ByteArrayOutputStream console = new ByteArrayOutputStream();

    @Test
    void writesLinesAsPythonsLoggingDoes() {
        LocalDateTime before = LocalDateTime.now().minusSeconds(1);
        try (RunLog log = new RunLog(Screen.plain(console))) {
            log.info("Starting Training Loop...");
            log.warn("  a {} b %d");
            log.error("worse");
        }
        List<String> lines = lines(console.toString(StandardCharsets.UTF_8));
        assertEquals(List.of("INFO: Starting Training Loop...", "WARNING:   a {} b %d", "ERROR: worse"),
            lines.stream().map(RunLogTest::withoutTime).toList());
        LocalDateTime time = LocalDateTime.parse(lines.getFirst().substring(0, 23),
            DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss,SSS"));
        assertTrue(time.isAfter(before) && time.isBefore(LocalDateTime.now().plusSeconds(1)), "local time: " + time);
    }

    @Test
    void appendsToTheFileFromItsOpeningOn() throws IOException {
        Path file = directory.resolve("base/1GPU/00/out.log");
        for (String run : List.of("first", "second")) {
            try (RunLog log = new RunLog(Screen.plain(console))) {
                log.info("before " + run);
                log.openFile(file);
                log.info(run);
                assertTrue(Files.readString(file).endsWith(run + "\n"), "written at once");
            }
        }
        assertEquals(List.of("INFO: first", "INFO: second"),
            Files.readAllLines(file).stream().map(RunLogTest::withoutTime).toList());
        assertEquals(4, lines(console.toString(StandardCharsets.UTF_8)).size());
    }

    @Test
    void truncatesTheFileToTheCheckpointOnResume() throws IOException {
        Path file = directory.resolve("out.log");
        long saved;
        try (RunLog log = new RunLog(Screen.plain(console))) {
            assertEquals(0, log.bytes(), "no file yet");
            log.openFile(file);
            log.info("until the checkpoint, in °C");
            saved = log.bytes();
            assertEquals(Files.size(file), saved);
            log.info("lost");
        }
        Files.writeString(file, "2026-11-21 01:02:5", StandardOpenOption.APPEND); // killed during a write
        try (RunLog log = new RunLog(Screen.plain(console))) {
            log.openFile(file, saved);
            assertEquals(saved, log.bytes());
            log.info("resumed");
            assertEquals(Files.size(file), log.bytes());
        }
        assertEquals(List.of("INFO: until the checkpoint, in °C", "INFO: resumed"),
            Files.readAllLines(file).stream().map(RunLogTest::withoutTime).toList());
    }

    /** The job has met when it is known from which checkpoint it resumes. */
    @Test
    void linesOfThisLogStayWhenTheFileIsCut() throws IOException {
        Path file = Files.writeString(directory.resolve("out.log"), "kept\nlost\n");
        try (RunLog log = new RunLog(Screen.plain(new ByteArrayOutputStream()))) {
            log.openFile(file);
            log.info("one");
            log.cut(5);
            log.info("two");
            log.cut(100);
        }
        List<String> lines = Files.readAllLines(file);
        assertEquals("kept", lines.get(0));
        assertTrue(lines.get(1).endsWith(" - one") && lines.get(2).endsWith(" - two"), lines::toString);
        assertEquals(3, lines.size());
    }

    @Test
    void aShorterFileIsNotTruncated() throws IOException {
        Path file = directory.resolve("out.log");
        Files.writeString(file, "2026-11-21 01:02:50,106 - root - INFO - before\n");
        RunLog log = new RunLog(Screen.plain(console));
        log.openFile(file, Files.size(file) + 1);
        log.info("after");
        log.close();
        assertEquals(List.of("INFO: before", "INFO: after"),
            Files.readAllLines(file).stream().map(RunLogTest::withoutTime).toList());
        assertEquals(Files.size(file), log.bytes(), "closed, but still there");
    }

    @Test
    void anIncompleteLineIsEnded() throws IOException {
        Path file = directory.resolve("out.log");
        Files.writeString(file, "2026-11-21 01:02:50,106 - root - INFO - kil");
        for (String line : List.of("resumed", "resumed again")) {
            try (RunLog log = new RunLog(Screen.plain(console))) {
                log.openFile(file);
                log.info(line);
            }
        }
        assertEquals(List.of("INFO: kil", "INFO: resumed", "INFO: resumed again"),
            Files.readAllLines(file).stream().map(RunLogTest::withoutTime).toList());
    }

    @Test
    void writesTheStackTraceOfAnUnexpectedException() throws IOException {
        Path file = directory.resolve("out.log");
        try (RunLog log = new RunLog(Screen.plain(console))) {
            log.openFile(file);
            log.error("step 7 failed", new IllegalStateException("odd", new ArithmeticException("deep")));
        }
        String text = Files.readString(file);
        assertTrue(text.contains(" - root - ERROR - step 7 failed\njava.lang.IllegalStateException: odd\n\tat "), text);
        assertTrue(text.contains("Caused by: java.lang.ArithmeticException: deep"), text);
        assertTrue(text.contains("RunLogTest.writesTheStackTraceOfAnUnexpectedException(RunLogTest.java:"), text);
    }

    @Test
    void afterAFullDiskTheScreenStillTakesLines() {
        PrintStream standardError = System.err;
        ByteArrayOutputStream noise = new ByteArrayOutputStream();
        System.setErr(new PrintStream(noise, true, StandardCharsets.UTF_8));
        try (RunLog log = new RunLog(Screen.plain(console))) {
            log.openFile(Path.of("/dev/full"));
            UserException failure = assertThrows(UserException.class, () -> log.info("lost in the file"));
            assertEquals("cannot write log /dev/full: No space left on device; free space, fix the permissions, "
                + "or choose another directory with --expdir", failure.getMessage());
            log.error("report of the failure");
        } finally {
            System.setErr(standardError);
        }
        assertEquals(List.of("INFO: lost in the file", "ERROR: report of the failure"),
            lines(console.toString(StandardCharsets.UTF_8)).stream().map(RunLogTest::withoutTime).toList());
        assertEquals("", noise.toString(StandardCharsets.UTF_8), "no output of the logging library itself");
    }

    @Test
    void aFileThatCannotBeOpenedIsReported() throws IOException {
        Path file = Files.createFile(directory.resolve("file"));
        try (RunLog log = new RunLog(Screen.plain(console))) {
            UserException below = assertThrows(UserException.class, () -> log.openFile(file.resolve("out.log")));
            assertTrue(below.getMessage().startsWith("cannot write log " + file + "/out.log: "), below.getMessage());
            UserException folder = assertThrows(UserException.class, () -> log.openFile(directory));
            assertTrue(folder.getMessage().contains(directory + ": Is a directory; "), folder.getMessage());
            log.info("still here");
        }
        assertTrue(console.toString(StandardCharsets.UTF_8).endsWith(" - root - INFO - still here\n"));
    }

    @Test
    void aLinkInPlaceOfTheFileIsNotFollowed() throws IOException {
        Path victim = Files.writeString(directory.resolve("victim"), "mine");
        Path link = Files.createSymbolicLink(directory.resolve("out.log"), victim);
        try (RunLog log = new RunLog(Screen.plain(console))) {
            UserException refusal = assertThrows(UserException.class, () -> log.openFile(link, 0));
            assertTrue(refusal.getMessage().startsWith("cannot write log " + link + ": a symbolic link, which is not "
                + "followed; "), refusal.getMessage());
        }
        assertEquals("mine", Files.readString(victim));
    }

    /** Opening a pipe for writing would wait until it is read. */
    @Test
    void aPipeInPlaceOfTheFileIsRefused() throws Exception {
        Path pipe = directory.resolve("out.log");
        assertEquals(0, new ProcessBuilder("mkfifo", pipe.toString()).start().waitFor());
        try (RunLog log = new RunLog(Screen.plain(console))) {
            String message = assertTimeoutPreemptively(Duration.ofSeconds(10),
                () -> assertThrows(UserException.class, () -> log.openFile(pipe))).getMessage();
            assertTrue(message.contains("It is a named pipe, not a regular file"), message);
        }
    }

    @Test
    void logsInOneJvmAreIndependent() throws IOException {
        IntStream.range(0, 4).parallel().forEach(rank -> {
            try (RunLog log = new RunLog(Screen.plain(new ByteArrayOutputStream()))) {
                log.openFile(directory.resolve(rank + ".log"));
                IntStream.range(0, 50).forEach(i -> log.info("rank " + rank));
            }
        });
        for (int rank = 0; rank < 4; rank++) {
            List<String> lines = Files.readAllLines(directory.resolve(rank + ".log"));
            assertEquals(50, lines.size());
            String expected = "INFO: rank " + rank;
            assertTrue(lines.stream().allMatch(line -> withoutTime(line).equals(expected)), lines.getFirst());
        }
    }

    @Test
    void aMultilineMessageIsOneRecord() {
        String model = "VisionTransformer(\n" + "  (norm): LayerNorm\n".repeat(2000) + ")";
        try (RunLog log = new RunLog(Screen.plain(console))) {
            log.info(model);
        }
        assertTrue(console.toString(StandardCharsets.UTF_8).endsWith(" - root - INFO - " + model + "\n"));
        assertFalse(console.toString(StandardCharsets.UTF_8).contains("\033"));
    }

    private static List<String> lines(String text) {
        return text.lines().toList();
    }

    private static String withoutTime(String line) {
        Matcher matcher = LINE.matcher(line);
        assertTrue(matcher.matches(), line);
        return matcher.group(2) + ": " + matcher.group(3);
    }
}
