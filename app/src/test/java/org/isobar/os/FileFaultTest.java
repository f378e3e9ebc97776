package org.isobar.os;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Checks the texts of exceptions of the file system. Access is never denied to root, so that one is constructed. */
class FileFaultTest {
    @TempDir
    private Path directory;

    @Test
    void givesTheErrorText() throws IOException {
        Path file = Files.createFile(directory.resolve("file"));
        assertEquals("No such file or directory", reason(() -> Files.readString(directory.resolve("none"))));
        assertEquals("File exists", reason(() -> Files.createFile(file)));
        assertEquals("Not a directory", reason(() -> Files.readString(file.resolve("below"))));
        assertEquals("Not a directory", reason(() -> Files.newDirectoryStream(file).close()));
        assertEquals("Is a directory", reason(() -> Files.readString(directory)));
        assertEquals("No space left on device", reason(() -> Files.writeString(Path.of("/dev/full"), "text")));
        assertEquals("Permission denied", FileFault.reason(new AccessDeniedException("/secret")));
        assertEquals("IOException", FileFault.reason(new IOException()));
    }

    /** An operation that fails. */
    private interface Io {
        void run() throws IOException;
    }

    private static String reason(Io io) {
        return FileFault.reason(assertThrows(IOException.class, io::run));
    }
}
