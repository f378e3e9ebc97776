package org.isobar.cli.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

import org.isobar.fault.UserException;
import org.isobar.os.ChildJava;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Jobs whose ranks are small shell scripts, started by a launcher in a process of its own. */
@Execution(ExecutionMode.CONCURRENT)
class LocalJobTest {
    private static final int PATIENT = 30_000; // ms that no test uses up
    /** A rank that saves a checkpoint when it is asked to end. */
    private static final String SAVES = """
        trap 'echo saving; sleep 1.5; exit 75' TERM; echo $$ >pid$RANK; while :; do sleep 0.1; done""";
    /** One that does not listen. */
    private static final String STAYS = "trap '' TERM INT; echo $$ >pid$RANK; while :; do sleep 0.1; done";

    @TempDir
    private Path directory;
    private Process launcher;

    @AfterEach
    void endLauncher() {
        if (launcher != null) {
            launcher.descendants().forEach(ProcessHandle::destroyForcibly);
            launcher.destroyForcibly();
        }
    }

    @Test
    void allButTheFirstAreMarked() throws Exception {
        start(3, PATIENT, "echo out $RANK of rank $LOCAL_RANK; echo err $RANK >&2; cat");
        assertEquals(0, code());
        assertEquals(List.of("[rank 1] out 1 of rank 1", "[rank 2] out 2 of rank 2", "out 0 of rank 0"), lines("out"));
        assertEquals(List.of("[rank 1] err 1", "[rank 2] err 2", "err 0"), lines("err"));
    }

    @Test
    void theCodeIsThatOfTheFirstToFail() throws Exception {
        start(3, 300, "[ $RANK = 1 ] && exit 7; exec sleep 60");
        assertEquals(7, code());
        assertEquals(List.of("isobar launch: rank 1 exited with code 7; stopping the others"), lines("err"));
    }

    @Test
    void theOthersHaveTimeToReport() throws Exception {
        start(2, PATIENT, """
            [ $RANK = 1 ] && { : >gone; kill -9 $$; }
            while [ ! -e gone ]; do sleep 0.05; done
            sleep 0.3; echo rank 1 has died >&2; exit 3""");
        assertEquals(128 + 9, code());
        assertEquals(List.of("isobar launch: rank 1 was terminated by signal 9 (exit code 137); stopping the others",
            "rank 1 has died"), lines("err"));
    }

    @Test
    void aProcessThatIgnoresTheRequestIsKilled() throws Exception {
        start(2, 300, "trap '' TERM; echo $$ >pid$RANK; [ $RANK = 0 ] && { sleep 0.5; exit 4; }; "
            + "while :; do sleep 0.1; done");
        assertEquals(4, code());
        assertFalse(runs("pid1"));
    }

    @Test
    void signalsReachAllAndEndThem() throws Exception {
        start(2, PATIENT, "echo $$ >pid$RANK; while :; do sleep 0.1; done");
        await(() -> started("pid0") && started("pid1"));
        signal("USR1");
        assertEquals(128 + 10, code());
        assertEquals(List.of("isobar launch: SIGUSR1: stopping the processes"), lines("err"));
    }

    @Test
    void ranksMayFinishAllTheSame() throws Exception {
        start(2, PATIENT, "trap 'echo asked to end; exit 0' TERM; echo $$ >pid$RANK; while :; do sleep 0.1; done");
        await(() -> started("pid0") && started("pid1"));
        launcher.destroy();
        assertEquals(0, code());
        assertEquals(List.of("[rank 1] asked to end", "asked to end"), lines("out"));
        assertEquals(List.of("isobar launch: SIGTERM: stopping the processes"), lines("err"));
    }

    /** A checkpoint that could not be saved, a loss that is not finite, a rank that ran out of memory. */
    @ParameterizedTest
    @CsvSource({"1, exited with code 1", "2, exited with code 2",
        "137, was terminated by signal 9 (exit code 137)"})
    void aFailureAfterTheSignalIsTold(int code, String said) throws Exception {
        start(2, PATIENT, "trap '[ $RANK = 0 ] && sleep 0.5; exit " + code + "' TERM; echo $$ >pid$RANK; "
            + "while :; do sleep 0.1; done");
        await(() -> started("pid0") && started("pid1"));
        signal("TERM");
        assertEquals(code, code());
        assertEquals(List.of("isobar launch: SIGTERM: stopping the processes",
            "isobar launch: rank 1 " + said + "; stopping the others"), lines("err"));
    }

    /** For longer than others have to report a failure. */
    @ParameterizedTest
    @ValueSource(strings = {"TERM", "USR1", "HUP", "INT"})
    void aProcessThatIsAskedToEndMaySaveFirst(String signal) throws Exception {
        start(2, 1_000, SAVES);
        await(() -> started("pid0") && started("pid1"));
        signal(signal);
        assertEquals(75, code());
        assertEquals(List.of("[rank 1] saving", "saving"), lines("out"));
        assertEquals(List.of("isobar launch: SIG" + signal + ": stopping the processes"
            + (signal.equals("INT") ? "; press Ctrl-C again to kill them" : "")), lines("err"));
    }

    @Test
    void ranksThatWereAskedByOthersEndTheJobQuietly() throws Exception {
        start(2, PATIENT, SAVES);
        await(() -> started("pid0") && started("pid1"));
        for (ProcessHandle rank : launcher.children().toList()) {
            rank.destroy();
        }
        assertEquals(75, code());
        assertEquals(List.of(), lines("err"));
    }

    /** As timeout(1) does it; or later, and of another kind, as when a session ends. */
    @ParameterizedTest
    @CsvSource({"TERM, 100, TERM", "TERM, 1200, TERM", "HUP, 1200, TERM", "TERM, 1200, INT"})
    void aSignalThatComesTwiceIsOne(String first, int millis, String second) throws Exception {
        start(2, PATIENT, SAVES.replace("sleep 1.5", "sleep 4")); // not done yet when the second signal comes
        await(() -> started("pid0") && started("pid1"));
        signal(first);
        Thread.sleep(millis);
        signal(second);
        assertEquals(75, code());
    }

    @Test
    void aSecondCtrlCKills() throws Exception {
        start(2, PATIENT, STAYS);
        await(() -> started("pid0") && started("pid1"));
        signal("INT");
        Thread.sleep(1_200);
        assertTrue(launcher.isAlive() && runs("pid0") && runs("pid1"));
        signal("INT");
        assertEquals(128 + 2, code());
        assertFalse(runs("pid0") || runs("pid1"));
    }

    @Test
    void theTimeForSavingIsLimited() throws Exception {
        start(2, 300, 300, List.of("sh", "-c", STAYS));
        await(() -> started("pid0") && started("pid1"));
        signal("TERM");
        assertEquals(128 + 15, code());
        assertFalse(runs("pid0") || runs("pid1"));
    }

    @Test
    void ranksEndWithAKilledLauncher() throws Exception {
        start(2, PATIENT, rank());
        await(() -> started("pid0") && started("pid1"));
        launcher.destroyForcibly();
        await(() -> !runs("pid0") && !runs("pid1"));
    }

    /** Its parent has become a program that does not wait for children, like the first process of many containers. */
    @Test
    void ranksEndWithAKilledLauncherThatIsNotReaped() throws Exception {
        List<String> command = new ArrayList<>(List.of("sh", "-c", "\"$@\" & echo $! >launcher; exec sleep 60", "sh"));
        command.addAll(command(2, PATIENT, PATIENT, rank()));
        start(command);
        await(() -> started("launcher") && started("pid0") && started("pid1"));
        long pid = process("launcher").orElseThrow();
        ProcessHandle.of(pid).orElseThrow().destroyForcibly();
        await(() -> !runs("pid0") && !runs("pid1"));
        assertTrue(ParentWatch.isZombie(pid));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "launcher", "-1", "12345678901"})
    void aLauncherThatIsNoProcessIsRefused(String launcher) {
        assertThrows(UserException.class, () -> ParentWatch.begin(Map.of(ParentWatch.VARIABLE, launcher)));
    }

    @Test
    void aCommandThatIsNotThereIsSaid() throws Exception {
        start(2, PATIENT, List.of("/nothing/there"));
        assertEquals(1, code());
        assertTrue(Files.readString(directory.resolve("err")).contains("cannot start process 1 of 2"));
    }

    /** A rank that works for ever. */
    private List<String> rank() {
        List<String> command = ChildJava.command(LocalJobProgram.Rank.class.getName());
        command.add(directory.resolve("pid").toString());
        return command;
    }

    private void start(int ranks, int report, String script) throws IOException {
        start(ranks, report, List.of("sh", "-c", script));
    }

    private void start(int ranks, int report, List<String> rank) throws IOException {
        start(ranks, report, PATIENT, rank);
    }

    private void start(int ranks, int report, int save, List<String> rank) throws IOException {
        start(command(ranks, report, save, rank));
    }

    private static List<String> command(int ranks, int report, int save, List<String> rank) {
        // This process's children may have been born with these signals ignored.
        List<String> command = new ArrayList<>(List.of("env", "--default-signal=INT,HUP"));
        command.addAll(ChildJava.command(LocalJobProgram.class.getName()));
        command.addAll(List.of(String.valueOf(ranks), String.valueOf(report), String.valueOf(save)));
        command.addAll(rank);
        return command;
    }

    private void start(List<String> command) throws IOException {
        launcher = new ProcessBuilder(command).directory(directory.toFile())
            .redirectOutput(directory.resolve("out").toFile()).redirectError(directory.resolve("err").toFile())
            .start();
    }

    private void signal(String name) throws Exception {
        assertEquals(0, new ProcessBuilder("kill", "-" + name, String.valueOf(launcher.pid())).start().waitFor());
    }

    private int code() throws InterruptedException {
        assertTrue(launcher.waitFor(PATIENT - 5_000, TimeUnit.MILLISECONDS), "the launcher still runs");
        return launcher.exitValue();
    }

    /** What was written, sorted, but for the virtual machine's own warnings. */
    private List<String> lines(String file) throws IOException {
        return Files.readAllLines(directory.resolve(file)).stream().filter(line -> !line.startsWith("WARNING: Using"))
            .sorted().toList();
    }

    private boolean started(String file) {
        return process(file).isPresent();
    }

    private boolean runs(String file) {
        return process(file).flatMap(ProcessHandle::of).filter(ProcessHandle::isAlive).isPresent();
    }

    private Optional<Long> process(String file) {
        try {
            String text = Files.exists(directory.resolve(file)) ? Files.readString(directory.resolve(file)) : "";
            return text.isBlank() ? Optional.empty() : Optional.of(Long.valueOf(text.strip()));
        } catch (IOException unreadable) {
            throw new AssertionError(unreadable);
        }
    }

    private static void await(BooleanSupplier condition) throws InterruptedException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < deadline, "did not happen within 20 s");
            Thread.sleep(50);
        }
    }
}
