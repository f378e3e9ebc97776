package org.isobar.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Only one run at a time can lock a directory. */
class RunLockTest {
    @TempDir
    private Path directory;

    private String refusal() {
        return assertThrows(UserException.class, () -> RunLock.take(directory, "node 1, process 3")).getMessage();
    }

    private String expected() {
        return "another run writes into " + directory + ": node 1, process 2; wait until it ends, or choose "
            + "another directory with --expdir or --run_num";
    }

    @Test
    void excludesARunOfThisProcess() {
        try (RunLock _ = RunLock.take(directory, "node 1, process 2")) {
            assertEquals(expected(), refusal());
        }
        RunLock.take(directory, "node 1, process 3").close();
    }

    /** The lock is released when its process is killed. */
    @Test
    void excludesARunOfAnotherProcess() throws IOException, InterruptedException {
        Process other = LockHolder.start(directory);
        try {
            assertEquals(expected(), refusal());
        } finally {
            other.destroyForcibly().waitFor();
        }
        RunLock.take(directory, "node 1, process 3").close();
    }

    @Test
    void aLinkInPlaceOfTheLockIsNotFollowed() throws IOException {
        Path victim = Files.writeString(directory.resolve("victim"), "mine");
        Path link = Files.createSymbolicLink(directory.resolve(".checkpoints.lock"), victim);
        assertEquals("cannot write lock " + link + ": a symbolic link, which is not followed; free space, fix the "
            + "permissions, or choose another directory with --expdir", refusal());
        assertEquals("mine", Files.readString(victim));
    }

    @Test
    void reportsADirectoryThatCannotBeCreated() throws IOException {
        Path file = Files.createFile(directory.resolve("file"));
        String message = assertThrows(UserException.class, () -> RunLock.take(file, "run")).getMessage();
        assertTrue(message.startsWith("cannot write lock " + file + "/.checkpoints.lock: File exists"), message);
    }
}
