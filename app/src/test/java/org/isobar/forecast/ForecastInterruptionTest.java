package org.isobar.forecast;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.isobar.os.ChildJava;
import org.isobar.train.TinyRun;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Forecasts that are killed, or that fill the disk, and are started again. */
class ForecastInterruptionTest {
    private static final int STARTS = 12;
    private static final int STEPS = 12;
    private static final Pattern CONTINUED =
        Pattern.compile("Continuing: the forecasts from (\\d+) of 12 starts are there already");

    @TempDir
    private static Path directory;
    private static Path run;
    private static Path store; // of a forecast that was not interrupted
    @TempDir
    private Path here;

    @BeforeAll
    static void forecast() {
        TinyRun.synthesize(directory);
        run = TinyRun.of(directory, directory.resolve("logs"), "num_iters=12").succeeded().directory();
        store = directory.resolve("whole.zarr");
        forecast(run, directory.resolve("tiny"), store).ended(0);
    }

    private static TinyForecast forecast(Path model, Path data, Path out) {
        List<StartTime> starts = IntStream.range(0, STARTS).mapToObj(i -> new StartTime(1981, i, 6)).toList();
        return TinyForecast.of(model, Map.of("local_batch_size", "2", "threads", "1", "device", "cpu"),
            new ForecastRun.Request(data, starts, STEPS, out));
    }

    /** The files of a store but for those that name the program's version, which the child's classes may not have. */
    private static Map<String, String> chunks(Path zarr) throws IOException {
        Map<String, String> files = TinyForecast.files(zarr);
        files.keySet().removeAll(List.of(".zattrs", ".zmetadata"));
        return files;
    }

    private static List<String> child(Path out, String... arguments) {
        List<String> command = ChildJava.command(ForecastInterruptionTest.class.getName(), "-Xmx256m");
        command.addAll(List.of(run.toString(), directory.resolve("tiny").toString(), out.toString()));
        command.addAll(List.of(arguments));
        return command;
    }

    /** Forecasts; if an argument names a ballast, deletes it afterwards and forecasts again. */
    public static void main(String... arguments) throws IOException {
        Path out = Path.of(arguments[2]);
        TinyForecast ended = forecast(Path.of(arguments[0]), Path.of(arguments[1]), out);
        System.out.println(ended.screen() + "exit code " + ended.code() + ", complete: " + Files.exists(out));
        if (arguments.length > 3) {
            Files.delete(Path.of(arguments[3]));
            ended = forecast(Path.of(arguments[0]), Path.of(arguments[1]), out);
            System.out.println(ended.screen());
        }
        System.exit(ended.code());
    }

    @Test
    void aKilledForecastIsContinuedWithTheSameBytes() throws Exception {
        Path out = here.resolve("out.zarr");
        Process process = new ProcessBuilder(child(out)).redirectErrorStream(true)
            .redirectOutput(here.resolve("screen").toFile()).start();
        Path written = here.resolve("out.zarr.partial/t2m/3." + STEPS / 2 + ".0.0");
        for (int tries = 0; tries < 30_000 && process.isAlive() && Files.notExists(written); tries++) {
            Thread.sleep(2);
        }
        process.destroyForcibly().waitFor();
        assertTrue(Files.exists(written), () -> "it ended before: " + process.exitValue());
        assertFalse(Files.exists(out));
        TinyForecast again = forecast(run, directory.resolve("tiny"), out).ended(0);
        Matcher continued = CONTINUED.matcher(again.screen());
        assertTrue(continued.find(), again.screen());
        assertTrue(Integer.parseInt(continued.group(1)) >= 2, again.screen());
        assertEquals(TinyForecast.files(store), TinyForecast.files(out));
    }

    @Test
    void aFullDiskIsSaidAndTheForecastIsContinued() throws Exception {
        Path disk = Files.createDirectory(here.resolve("disk"));
        Path copy = here.resolve("copy");
        Path ballast = disk.resolve("ballast");
        Path screen = here.resolve("screen");
        List<String> command = new ArrayList<>(List.of("unshare", "--user", "--map-root-user", "--mount", "sh", "-c",
            "mount -t tmpfs -o size=8m tmpfs \"$0\" || exit 99; head -c 7m /dev/zero > " + ballast
                + "; \"$@\"; code=$?; cp -a \"$0\"/out.zarr " + copy + "; exit $code", disk.toString()));
        command.addAll(child(disk.resolve("out.zarr"), ballast.toString()));
        Process process;
        try {
            process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(screen.toFile())
                .redirectInput(new File("/dev/null")).start();
        } catch (IOException none) {
            Assumptions.abort("no unshare command");
            return;
        }
        try {
            assertTrue(process.waitFor(2, TimeUnit.MINUTES));
        } finally {
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
        }
        String printed = Files.readString(screen);
        Assumptions.assumeFalse(process.exitValue() == 99 || printed.startsWith("unshare:"), "cannot mount");
        assertEquals(0, process.exitValue(), printed);
        assertTrue(printed.contains("\nexit code 2, complete: false"), printed);
        List<String> errors = printed.lines().filter(line -> line.contains(" - ERROR - ")).toList();
        assertEquals(1, errors.size(), printed);
        assertTrue(errors.getFirst().contains("forecasts " + disk.resolve("out.zarr.partial"))
            && errors.getFirst().contains("No space left on device"), printed);
        assertFalse(printed.lines().collect(Collectors.joining()).contains("\tat "), printed);
        assertTrue(CONTINUED.matcher(printed).find(), printed);
        assertEquals(chunks(store), chunks(copy));
    }
}
