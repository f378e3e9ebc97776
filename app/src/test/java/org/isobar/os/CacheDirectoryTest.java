package org.isobar.os;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import java.util.Optional;

import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Where caches are kept, and what happens where nothing can be written. */
class CacheDirectoryTest {
    @TempDir
    private Path directory;

    @Test
    void theEnvironmentNamesTheDirectory() {
        assertEquals(Optional.of(Path.of("/own")),
            CacheDirectory.path(Map.of("ISOBAR_CACHE", "/own", "XDG_CACHE_HOME", "/c", "HOME", "/h")));
        assertEquals(Optional.of(Path.of("relative").toAbsolutePath()),
            CacheDirectory.path(Map.of("ISOBAR_CACHE", "relative", "HOME", "/h")));
        assertEquals(Optional.of(Path.of("/c/isobar")),
            CacheDirectory.path(Map.of("ISOBAR_CACHE", "", "XDG_CACHE_HOME", "/c", "HOME", "/h")));
        assertEquals(Optional.of(Path.of("/h/.cache/isobar")),
            CacheDirectory.path(Map.of("XDG_CACHE_HOME", "relative", "HOME", "/h")));
        assertEquals(Optional.empty(), CacheDirectory.path(Map.of()));
        assertEquals(Optional.empty(), CacheDirectory.path(Map.of("HOME", ".")));
    }

    /** A home that cannot be written has no cache; a directory that the user names must be usable. */
    @Test
    void whereNothingCanBeWritten() throws IOException {
        Path file = Files.createFile(directory.resolve("file"));
        assertEquals(Optional.empty(), CacheDirectory.open(Map.of("HOME", file.toString()), "native"));
        assertEquals(Optional.empty(), CacheDirectory.open(Map.of("HOME", "/proc/none"), "native"));
        String message = assertThrows(UserException.class,
            () -> CacheDirectory.open(Map.of("ISOBAR_CACHE", file.toString()), "native")).getMessage();
        assertTrue(message.startsWith("cannot write cache " + file + ": ")
            && message.endsWith("or choose another directory with ISOBAR_CACHE"), message);
    }

    @Test
    void aHomeThatOthersCanWriteIsRefused() throws IOException {
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxrwxrwx"));
        String message = assertThrows(UserException.class,
            () -> CacheDirectory.open(Map.of("HOME", directory.toString()), "native")).getMessage();
        assertTrue(message.contains("other users can write " + directory.toRealPath()), message);
    }
}
