package org.isobar.bundle;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDateTime;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The archive is compressed by the system's xz. */
class ArchiveTest {
    private static final byte[] XZ = {(byte) 0xFD, '7', 'z', 'X', 'Z', 0};

    @TempDir
    private Path directory;

    @Test
    void isCompressedAndUnpacksToTheSameFiles() throws Exception {
        Path packed = Files.createDirectories(directory.resolve("from/program"));
        Files.writeString(packed.resolve("a file"), "its text");
        Path archive = directory.resolve("program.tar.xz");
        try (OutputStream out = Files.newOutputStream(archive)) {
            Archive.write(packed, out, LocalDateTime.of(2026, 1, 1, 0, 0));
        }
        assertArrayEquals(XZ, Arrays.copyOf(Files.readAllBytes(archive), XZ.length));
        Process tar = new ProcessBuilder("tar", "-xf", archive.toString()).directory(directory.toFile()).start();
        assertTrue(tar.waitFor(60, TimeUnit.SECONDS));
        assertEquals(0, tar.exitValue());
        assertEquals("its text", Files.readString(directory.resolve("program/a file")));
    }
}
