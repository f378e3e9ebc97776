package org.isobar.telemetry;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.List;

import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tensorflow.framework.Summary;
import org.tensorflow.util.Event;

/** Reads event files back with {@link EventFile}. */
class TensorBoardWriterTest {
    private static final double WALL_TIME = 1_698_839_594.25;

    @TempDir
    private Path directory;

    private TensorBoardWriter open() {
        return TensorBoardWriter.open(directory.resolve("logs"), () -> Instant.ofEpochMilli((long) (1000 * WALL_TIME)));
    }

    @Test
    void writesScalarsAndImagesAsPyTorchDoes() throws IOException {
        byte[] png = {(byte) 0x89, 'P', 'N', 'G', 0, -1};
        TensorBoardWriter writer = open();
        writer.scalar("Loss/train", 1.0756031, 0);
        writer.scalar("RMSE(u10m)/valid", -2.5, 5_000_000_000L);
        writer.image("Visualization, t2m", png, 600, 1200, 20);
        writer.scalar("Loss/valid", Double.NaN, 20);
        writer.flush();
        List<Event> events = EventFile.read(writer.file()).events();
        writer.close();

        assertEquals(5, events.size());
        assertEquals("brain.Event:2", events.getFirst().getFileVersion());
        assertTrue(events.stream().allMatch(event -> event.getWallTime() == WALL_TIME));
        assertEquals(List.of(0L, 0L, 5_000_000_000L, 20L, 20L), events.stream().map(Event::getStep).toList());
        assertEquals("Loss/train", EventFile.value(events.get(1)).getTag());
        assertEquals(1.0756031f, EventFile.value(events.get(1)).getSimpleValue());
        assertEquals("RMSE(u10m)/valid", EventFile.value(events.get(2)).getTag());
        assertEquals(-2.5f, EventFile.value(events.get(2)).getSimpleValue());
        assertEquals("Visualization, t2m", EventFile.value(events.get(3)).getTag());
        Summary.Image image = EventFile.value(events.get(3)).getImage();
        assertEquals(List.of(600, 1200, 3), List.of(image.getHeight(), image.getWidth(), image.getColorspace()));
        assertArrayEquals(png, image.getEncodedImageString().toByteArray());
        assertTrue(Float.isNaN(EventFile.value(events.get(4)).getSimpleValue()));
    }

    /** Compares with two records of an event file that PyTorch wrote. */
    @Test
    void writesTheBytesThatPyTorchWrites() throws IOException {
        try (TensorBoardWriter writer = open()) {
            writer.scalar("Loss/train", Float.intBitsToFloat(0x3F89AD5C), 0);
            writer.scalar("Learning Rate", Float.intBitsToFloat(0x3A010F82), 2372);
            List<byte[]> payloads = EventFile.payloads(writer.file());
            assertEquals("2a130a110a0a4c6f73732f747261696e155cad893f", hex(payloads.get(1)));
            assertEquals("10c4122a160a140a0d4c6561726e696e67205261746515820f013a", hex(payloads.get(2)));
        }
    }

    @Test
    void writersOpenedInTheSameSecondHaveDifferentFiles() throws IOException {
        try (TensorBoardWriter first = open(); TensorBoardWriter second = open()) {
            String name = "events\\.out\\.tfevents\\.1698839594\\.[^.]\\S*\\." + ProcessHandle.current().pid();
            assertTrue(first.file().getFileName().toString().matches(name + "\\.0"), first.file().toString());
            assertTrue(second.file().getFileName().toString().matches(name + "\\.1"), second.file().toString());
            second.scalar("Loss/train", 1, 1);
            assertEquals(1, EventFile.read(first.file()).events().size());
            assertEquals(2, EventFile.read(second.file()).events().size());
        }
    }

    @Test
    void truncatesTheFileToTheCheckpointOnResume() throws IOException {
        TensorBoardWriter earlier = open();
        earlier.scalar("Loss/train", 3, 1);
        long saved = earlier.bytes();
        assertEquals(Files.size(earlier.file()), saved);
        earlier.scalar("Loss/train", 2, 2);
        earlier.close();
        Files.write(earlier.file(), new byte[] {24, 0, 0}, StandardOpenOption.APPEND); // killed during a write

        try (TensorBoardWriter resumed = TensorBoardWriter.resume(earlier.file(), saved)) {
            assertEquals(earlier.file(), resumed.file());
            assertEquals(saved, resumed.bytes());
            resumed.scalar("Loss/train", 1.5, 2);
            resumed.scalar("Loss/valid", 1, 2);
            EventFile events = EventFile.read(resumed.file());
            assertEquals(List.of("Loss/train @ 1", "Loss/train @ 2", "Loss/valid @ 2"), events.labels());
            assertEquals(1.5f, events.scalar("Loss/train", 2));
            assertEquals(Files.size(resumed.file()), resumed.bytes());
        }
    }

    @Test
    void otherFilesAreNotModified() throws IOException {
        Path file;
        long whole;
        try (TensorBoardWriter earlier = open()) {
            earlier.scalar("Loss/train", 3, 1);
            file = earlier.file();
            whole = earlier.bytes();
        }
        byte[] sound = Files.readAllBytes(file);
        for (long bytes : new long[] {0, whole - 1, whole + 1}) {
            assertCreatesANewFile(file, bytes);
            assertArrayEquals(sound, Files.readAllBytes(file));
        }
        for (int at = 0; at < whole; at++) {
            byte[] damaged = sound.clone();
            damaged[at] ^= 0x10;
            Files.write(file, damaged);
            assertCreatesANewFile(file, whole);
            assertArrayEquals(damaged, Files.readAllBytes(file));
        }
        Path moved = Files.write(file.resolveSibling("moved"), sound);
        Files.delete(file);
        Files.createSymbolicLink(file, moved);
        assertCreatesANewFile(file, whole);
        assertArrayEquals(sound, Files.readAllBytes(moved));
        Files.delete(file);
        assertCreatesANewFile(file, whole);
        assertFalse(Files.exists(file));
    }

    private static void assertCreatesANewFile(Path file, long bytes) throws IOException {
        try (TensorBoardWriter resumed = TensorBoardWriter.resume(file, bytes, Instant::now)) {
            assertNotEquals(file, resumed.file());
            assertEquals(file.getParent(), resumed.file().getParent());
            resumed.scalar("Loss/train", 2, 1);
            assertEquals(List.of("Loss/train @ 1"), EventFile.read(resumed.file()).labels());
        }
    }

    @Test
    void aDirectoryThatCannotBeCreatedIsReported() throws IOException {
        Path file = Files.createFile(directory.resolve("file"));
        UserException failure = assertThrows(UserException.class, () -> TensorBoardWriter.open(file));
        assertTrue(failure.getMessage().startsWith("cannot write TensorBoard events to " + file + ": File exists; "),
            failure.getMessage());
    }

    @Test
    void aFullDiskIsAnError() throws IOException {
        Path full = Path.of("/dev/full");
        try (FileChannel channel = FileChannel.open(full, StandardOpenOption.WRITE)) {
            TensorBoardWriter writer = new TensorBoardWriter(full, channel, Instant::now);
            UserException failure = assertThrows(UserException.class, () -> writer.scalar("Loss/train", 1, 0));
            assertEquals("cannot write TensorBoard events to /dev/full: No space left on device; free space, fix the "
                + "permissions, or choose another directory with --expdir", failure.getMessage());
        }
    }

    @Test
    void checksumsAreCrc32C() {
        assertEquals(0xE3069283, EventFile.crc32c("123456789".getBytes(), 9),
            "the check value of the polynomial of RFC 3720");
    }

    /** Without the first field, the time (9 bytes). */
    private static String hex(byte[] event) {
        StringBuilder hex = new StringBuilder();
        for (int i = 9; i < event.length; i++) {
            hex.append("%02x".formatted(event[i]));
        }
        return hex.toString();
    }
}
