package org.isobar.cli.signal;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

import org.isobar.cli.job.JavaCommand;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What signals do to a process, sent to one. */
@Execution(ExecutionMode.CONCURRENT)
class StopSignalsTest {
    private static final int SAVED = 75;
    private static final List<String> UNARMED = List.of();
    private static final List<String> ARMED = List.of("ANYONE");

    /** This process's children may have been born with these signals ignored. */
    private List<String> environment = List.of("env", "--default-signal=INT,HUP");
    private Process process;

    @AfterEach
    void endProcess() {
        process.destroyForcibly();
    }

    @ParameterizedTest
    @CsvSource({"TERM, 143", "HUP, 129", "INT, 130", "USR1, 138"})
    void noHandlerIsInstalledYet(String signal, int code) throws Exception {
        assertEquals(List.of(), run(code, UNARMED, signal));
    }

    @ParameterizedTest
    @ValueSource(strings = {"TERM", "HUP", "USR1"})
    void theFirstIsARequestAndTheOthersAreIgnored(String signal) throws Exception {
        String said = "isobar: SIG" + signal + ": saving a checkpoint, then stopping";
        assertEquals(List.of(said), run(SAVED, ARMED, signal, signal, "USR1", "HUP", "TERM"));
    }

    /** The launcher has told which signal it was. */
    @Test
    void aForwardedSignalHasNoName() throws Exception {
        assertEquals(List.of("isobar: saving a checkpoint, then stopping"), run(SAVED, List.of("LAUNCHER"), "TERM"));
    }

    /** As nohup starts it. */
    @Test
    void aSignalThatIsIgnoredStaysIgnored() throws Exception {
        environment = List.of("env", "--default-signal=INT", "--ignore-signal=HUP");
        assertEquals(List.of("isobar: SIGTERM: saving a checkpoint, then stopping"),
            run(SAVED, ARMED, "HUP", "TERM"));
    }

    @ParameterizedTest
    @CsvSource({"INT TERM, INT", "TERM INT, TERM", "INT INT, INT", "TERM INT INT, TERM"})
    void oneCtrlCIsOneRequestHoweverItComes(String signals, String heard) throws Exception {
        List<String> said = run(SAVED, ARMED, signals.split(" "));
        assertEquals("isobar: SIG" + heard + ": saving a checkpoint, then stopping"
            + (heard.equals("INT") ? "; press Ctrl-C again to stop at once" : ""), String.join("\n", said));
    }

    @ParameterizedTest
    @ValueSource(strings = {"INT later INT", "TERM INT later INT", "INT TERM later INT"})
    void aSecondCtrlCEndsAtOnce(String signals) throws Exception {
        assertEquals(1, run(130, ARMED, signals.split(" ")).size());
    }

    /** What the process says after it has begun, when it gets these signals one after the other. */
    private List<String> run(int code, List<String> arguments, String... signals) throws Exception {
        List<String> command = new ArrayList<>(environment);
        command.addAll(JavaCommand.command(StopSignalsProgram.class));
        command.addAll(arguments);
        process = new ProcessBuilder(command).start();
        try (BufferedReader lines = process.inputReader()) {
            assertEquals("ready", lines.readLine());
            for (String signal : signals) {
                if (signal.equals("later")) {
                    Thread.sleep(1_100);
                    continue;
                }
                assertEquals(0,
                    new ProcessBuilder("kill", "-" + signal, Long.toString(process.pid())).start().waitFor());
                Thread.sleep(100);
            }
            if (code == SAVED) {
                Thread.sleep(200); // for what should be ignored, and is not
                process.getOutputStream().close();
            }
            List<String> said = lines.lines().toList();
            assertTrue(process.waitFor(20, TimeUnit.SECONDS));
            assertEquals(code, process.exitValue(), said::toString);
            return said;
        }
    }
}
