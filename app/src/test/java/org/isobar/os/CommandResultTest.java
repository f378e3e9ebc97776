package org.isobar.os;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;

/** Runs shell scripts. */
class CommandResultTest {
    private static final Duration LONG = Duration.ofSeconds(60);

    private static CommandResult bash(Duration limit, String script) {
        return CommandResult.run(limit, List.of("bash", "-c", script));
    }

    @Test
    void outputIsKept() {
        assertEquals(new CommandResult(Optional.empty(), List.of("one", "two")),
            bash(LONG, "cat; echo one; echo; echo two >&2"));
    }

    @Test
    void outputMayExceedAPipe() {
        assertEquals(100_000, bash(LONG, "seq 100000").lines().size());
    }

    @Test
    void failuresGiveTheLastLine() {
        assertEquals(Optional.of("status 3: out of memory"), bash(LONG, "echo x; echo out of memory; exit 3").fault());
        assertEquals(Optional.of("status 1"), bash(LONG, "exit 1").fault());
        String absent = CommandResult.run(LONG, List.of("/no/such/program")).fault().orElseThrow();
        assertTrue(absent.contains("/no/such/program"), absent);
    }

    @Test
    void aHangingCommandIsKilledWithItsChildren() throws Exception {
        long start = System.nanoTime();
        CommandResult hung = bash(Duration.ofSeconds(1), "sleep 100 & echo $!; wait");
        assertTrue(System.nanoTime() - start < LONG.toNanos());
        assertEquals(Optional.of("did not end within 1 s"), hung.fault());
        long child = Long.parseLong(hung.lines().getFirst());
        Optional<ProcessHandle> killed = ProcessHandle.of(child);
        if (killed.isPresent()) { // the process may take a moment to end
            killed.get().onExit().get(LONG.toSeconds(), TimeUnit.SECONDS);
        }
        assertFalse(killed.map(ProcessHandle::isAlive).orElse(false));
    }
}
