package org.isobar.telemetry;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.tensorflow.framework.Summary;
import org.tensorflow.util.Event;

/** Reads what was written with TensorFlow's own message classes and a bitwise checksum. */
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
        List<Event> events = read(writer.file());
        writer.close();

        assertEquals(5, events.size());
        assertEquals("brain.Event:2", events.getFirst().getFileVersion());
        assertTrue(events.stream().allMatch(event -> event.getWallTime() == WALL_TIME));
        assertEquals(List.of(0L, 0L, 5_000_000_000L, 20L, 20L), events.stream().map(Event::getStep).toList());
        assertEquals("Loss/train", value(events.get(1)).getTag());
        assertEquals(1.0756031f, value(events.get(1)).getSimpleValue());
        assertEquals("RMSE(u10m)/valid", value(events.get(2)).getTag());
        assertEquals(-2.5f, value(events.get(2)).getSimpleValue());
        assertEquals("Visualization, t2m", value(events.get(3)).getTag());
        Summary.Image image = value(events.get(3)).getImage();
        assertEquals(List.of(600, 1200, 3), List.of(image.getHeight(), image.getWidth(), image.getColorspace()));
        assertArrayEquals(png, image.getEncodedImageString().toByteArray());
        assertTrue(Float.isNaN(value(events.get(4)).getSimpleValue()));
    }

    /** Two records of an event file that PyTorch wrote: the same events must give the same bytes. */
    @Test
    void isByteForByteWhatPyTorchWrites() throws IOException {
        try (TensorBoardWriter writer = open()) {
            writer.scalar("Loss/train", Float.intBitsToFloat(0x3F89AD5C), 0);
            writer.scalar("Learning Rate", Float.intBitsToFloat(0x3A010F82), 2372);
            List<byte[]> payloads = payloads(writer.file());
            assertEquals("2a130a110a0a4c6f73732f747261696e155cad893f", hex(payloads.get(1)));
            assertEquals("10c4122a160a140a0d4c6561726e696e67205261746515820f013a", hex(payloads.get(2)));
        }
    }

    @Test
    void writersOfOneSecondHaveFilesOfTheirOwn() throws IOException {
        try (TensorBoardWriter first = open(); TensorBoardWriter second = open()) {
            String name = "events\\.out\\.tfevents\\.1698839594\\.[^.]\\S*\\." + ProcessHandle.current().pid();
            assertTrue(first.file().getFileName().toString().matches(name + "\\.0"), first.file().toString());
            assertTrue(second.file().getFileName().toString().matches(name + "\\.1"), second.file().toString());
            second.scalar("Loss/train", 1, 1);
            assertEquals(1, read(first.file()).size());
            assertEquals(2, read(second.file()).size());
        }
    }

    @Test
    void aDirectoryThatCannotBeMadeIsAUsersMistake() throws IOException {
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
            assertEquals("cannot write TensorBoard events to /dev/full: No space left on device; free space, mend the "
                + "permissions, or give --expdir another directory", failure.getMessage());
        }
    }

    @Test
    void checksumsAreThoseOfCastagnoli() {
        assertEquals(0xE3069283, crc32c("123456789".getBytes(), 9), "the check value of RFC 3720's polynomial");
    }

    private static Summary.Value value(Event event) {
        assertEquals(1, event.getSummary().getValueCount());
        return event.getSummary().getValue(0);
    }

    private static List<Event> read(Path file) throws IOException {
        List<Event> events = new ArrayList<>();
        for (byte[] payload : payloads(file)) {
            events.add(Event.parseFrom(payload));
        }
        return events;
    }

    private static List<byte[]> payloads(Path file) throws IOException {
        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(file)).order(ByteOrder.LITTLE_ENDIAN);
        List<byte[]> payloads = new ArrayList<>();
        while (bytes.hasRemaining()) {
            byte[] length = new byte[8];
            bytes.get(bytes.position(), length);
            byte[] payload = new byte[(int) bytes.getLong()];
            assertEquals(mask(crc32c(length, 8)), bytes.getInt());
            bytes.get(payload);
            assertEquals(mask(crc32c(payload, payload.length)), bytes.getInt());
            payloads.add(payload);
        }
        return payloads;
    }

    private static int mask(int crc) {
        return ((crc >>> 15) | (crc << 17)) + 0xA282EAD8;
    }

    /** CRC-32C bit by bit, the reflected polynomial 0x82F63B78. */
    private static int crc32c(byte[] bytes, int length) {
        int crc = -1;
        for (int i = 0; i < length; i++) {
            crc ^= bytes[i] & 0xFF;
            for (int bit = 0; bit < 8; bit++) {
                crc = (crc >>> 1) ^ (0x82F63B78 & -(crc & 1));
            }
        }
        return ~crc;
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
