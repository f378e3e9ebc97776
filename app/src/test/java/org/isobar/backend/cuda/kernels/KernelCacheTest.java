package org.isobar.backend.cuda.kernels;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The disk cache: what its keys depend on, and damaged, missing or unwritable files. */
class KernelCacheTest {
    private static final KernelSource SOURCE = new KernelSource("a.cu", "text", Map.of("b.cuh", "header"));
    private static final byte[] IMAGE = {1, 2, 3};

    @TempDir
    private Path directory;
    private final List<String> warnings = new ArrayList<>();

    @Test
    void aKeyDependsOnAllThatIsCompiled() {
        String key = KernelCache.key(SOURCE, List.of("-x"));
        assertEquals(key, KernelCache.key(SOURCE, List.of("-x")));
        for (KernelSource other : List.of(new KernelSource("c.cu", "text", SOURCE.headers()),
            new KernelSource("a.cu", "other", SOURCE.headers()),
            new KernelSource("a.cu", "text", Map.of("b.cuh", "other")),
            new KernelSource("a.cu", "text", Map.of("c.cuh", "header")))) {
            assertNotEquals(key, KernelCache.key(other, List.of("-x")), other.toString());
        }
        assertNotEquals(key, KernelCache.key(SOURCE, List.of("-y")));
        assertNotEquals(key, KernelCache.key(SOURCE, List.of("-", "x")));
    }

    @Test
    void whatIsWrittenIsReadByTheSameCompilerOrWithoutOne() {
        KernelCache cache = cache(directory.resolve("new"));
        cache.write("key", "13_0", IMAGE);
        assertArrayEquals(IMAGE, cache.read("key", Optional.of("13_0")).orElseThrow());
        assertArrayEquals(IMAGE, cache.read("key", Optional.empty()).orElseThrow());
        assertTrue(cache.read("key", Optional.of("13_1")).isEmpty());
        assertTrue(cache.read("other", Optional.empty()).isEmpty());
        assertEquals(List.of(), warnings);
    }

    @Test
    void aDamagedEntryCountsAsAbsentAndIsReplaced() throws IOException {
        KernelCache cache = cache(directory);
        cache.write("key", "13_0", IMAGE);
        Path entry;
        try (Stream<Path> entries = Files.list(directory)) {
            entry = entries.findAny().orElseThrow();
        }
        byte[] whole = Files.readAllBytes(entry);
        for (int length : new int[] {0, 20, whole.length - 1}) {
            Files.write(entry, Arrays.copyOf(whole, length));
            assertTrue(cache.read("key", Optional.of("13_0")).isEmpty(), length + " bytes");
        }
        whole[whole.length - 1]++;
        Files.write(entry, whole);
        assertTrue(cache.read("key", Optional.of("13_0")).isEmpty());
        cache.write("key", "13_0", IMAGE);
        assertArrayEquals(IMAGE, cache.read("key", Optional.of("13_0")).orElseThrow());
        assertEquals(List.of(), warnings);
    }

    @Test
    void anUnusableDirectoryIsOneWarning() throws IOException {
        KernelCache cache = cache(Files.createFile(directory.resolve("file")).resolve("kernels"));
        cache.write("key", "13_0", IMAGE);
        cache.write("key", "13_0", IMAGE);
        assertTrue(cache.read("key", Optional.of("13_0")).isEmpty());
        assertEquals(1, warnings.size(), warnings.toString());
        assertTrue(warnings.getFirst().contains("ISOBAR_KERNEL_CACHE names another directory"), warnings.getFirst());
    }

    @Test
    void theDirectoryIsTheUsersOwn() {
        Path own = directory.resolve("own");
        Map<String, String> home = Map.of("HOME", directory.toString());
        assertEquals(Optional.of(own), open(Map.of("ISOBAR_KERNEL_CACHE", own.toString())).directory());
        assertEquals(Optional.of(directory.resolve(".cache/isobar/kernels")), open(home).directory());
        assertEquals(List.of(), warnings);
        assertEquals(Optional.empty(), open(Map.of()).directory());
        assertEquals(1, warnings.size(), warnings.toString());
    }

    @Test
    void aDirectoryThatOthersCanWriteIsRefused() throws IOException {
        Path shared = Files.createDirectory(directory.resolve("shared"));
        Files.setPosixFilePermissions(directory, PosixFilePermissions.fromString("rwxr-xr-x"));
        Files.setPosixFilePermissions(shared, PosixFilePermissions.fromString("rwxrwxrwx"));
        UserException refusal = assertThrows(UserException.class,
            () -> open(Map.of("ISOBAR_KERNEL_CACHE", shared.toString())));
        assertTrue(refusal.getMessage().contains("other users can write " + shared), refusal.getMessage());
        assertTrue(refusal.getMessage().endsWith("with ISOBAR_KERNEL_CACHE"), refusal.getMessage());
    }

    private KernelCache open(Map<String, String> environment) {
        return KernelCache.open(environment, warnings::add);
    }

    private KernelCache cache(Path place) {
        return new KernelCache(place, warnings::add);
    }
}
