package org.isobar.os;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

import org.isobar.fault.UserException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A file is replaced completely or not at all, through a temporary name that no other user can prepare. */
class AtomicFileTest {
    private static final byte[] OLD = {1, 2, 3};
    private static final byte[] NEW = {4, 5};

    @TempDir
    private Path directory;
    private Path path;

    @BeforeEach
    void setUp() throws IOException {
        path = Files.write(directory.resolve("m.safetensors"), OLD);
    }

    private AtomicFile file() {
        return new AtomicFile("weights", path, "--expdir");
    }

    private List<String> names() throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString()).sorted().toList();
        }
    }

    @Test
    void replacesTheFile() throws IOException {
        file().write(NEW);
        assertArrayEquals(NEW, Files.readAllBytes(path));
        assertEquals(List.of("m.safetensors"), names());
    }

    @Test
    void theRootIsNoFile() {
        UserException failure = assertThrows(UserException.class,
            () -> new AtomicFile("the plan", Path.of("/"), "--json").write(NEW));
        assertTrue(failure.getMessage().startsWith("cannot write the plan /: Is a directory; "), failure::getMessage);
    }

    /** /dev/full acts as a full disk. */
    @Test
    void aFullDiskKeepsTheOldFile() throws IOException {
        UserException failure = assertThrows(UserException.class, () -> file().write(channel -> {
            channel.write(ByteBuffer.wrap(NEW));
            try (FileChannel full = FileChannel.open(Path.of("/dev/full"), StandardOpenOption.WRITE)) {
                full.write(ByteBuffer.wrap(NEW));
            }
        }));
        assertEquals("cannot write weights " + path + ": No space left on device; free space, fix the permissions, "
            + "or choose another directory with --expdir", failure.getMessage());
        assertArrayEquals(OLD, Files.readAllBytes(path));
        assertEquals(List.of("m.safetensors"), names());
    }

    @Test
    void temporaryNamesAreDifferentEachTime() throws IOException {
        List<String> first = namesDuringAWrite();
        List<String> second = namesDuringAWrite();
        assertEquals(2, first.size());
        assertEquals(3, Stream.concat(first.stream(), second.stream()).distinct().count());
    }

    private List<String> namesDuringAWrite() {
        List<String> names = new ArrayList<>();
        file().write(_ -> names.addAll(names()));
        return names;
    }

    /** Neither a link under the file's own name nor one with a temporary name leads to a write elsewhere. */
    @Test
    void linksAreReplacedAndNotFollowed() throws IOException {
        Path victim = Files.write(directory.resolve("victim"), OLD);
        Path planted = Files.createSymbolicLink(directory.resolve("m.safetensors.tmp"), victim);
        Files.delete(path);
        Files.createSymbolicLink(path, victim);
        file().write(NEW);
        assertArrayEquals(OLD, Files.readAllBytes(victim));
        assertArrayEquals(NEW, Files.readAllBytes(path));
        assertEquals(victim, Files.readSymbolicLink(planted));
        assertThrows(FileAlreadyExistsException.class, () -> AtomicFile.create(planted, _ -> { }));
        assertArrayEquals(OLD, Files.readAllBytes(victim));
    }

    @Test
    void leftoversOfKilledWritersAreDeleted() throws IOException {
        List<String> others = List.of("m.safetensors", "m.safetensors.01234567.tmp", "other.0123456789abcdef.tmp");
        for (String other : others.subList(1, 3)) {
            Files.createFile(directory.resolve(other));
        }
        Files.createFile(directory.resolve("m.safetensors.0123456789abcdef.tmp"));
        file().write(NEW);
        assertEquals(others, names());
    }
}
