package org.isobar.telemetry;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import org.tensorflow.framework.Summary;
import org.tensorflow.util.Event;

/**
 * A TensorBoard file read with TensorFlow's own message classes and a bitwise checksum.
 *
 * @param events all events, the file's version first
 */
public record EventFile(List<Event> events) {
    /** Reads a file; fails unless it is whole. */
    public static EventFile read(Path file) throws IOException {
        List<Event> events = new ArrayList<>();
        for (byte[] payload : payloads(file)) {
            events.add(Event.parseFrom(payload));
        }
        return new EventFile(events);
    }

    /** Each value's tag and step, in order: {@code Loss/train @ 0}. */
    public List<String> labels() {
        return events.stream().skip(1).map(event -> value(event).getTag() + " @ " + event.getStep()).toList();
    }

    /** The number at a tag and step. */
    public float scalar(String tag, long step) {
        return find(tag, step).getSimpleValue();
    }

    /** The picture at a tag and step. */
    public Summary.Image image(String tag, long step) {
        return find(tag, step).getImage();
    }

    private Summary.Value find(String tag, long step) {
        return events.stream().skip(1).filter(event -> event.getStep() == step).map(EventFile::value)
            .filter(value -> value.getTag().equals(tag)).findAny()
            .orElseThrow(() -> new AssertionError(tag + " @ " + step + " is not among " + labels()));
    }

    /** The one value of an event. */
    static Summary.Value value(Event event) {
        assertEquals(1, event.getSummary().getValueCount());
        return event.getSummary().getValue(0);
    }

    /** The bytes of the file's records. */
    static List<byte[]> payloads(Path file) throws IOException {
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
    static int crc32c(byte[] bytes, int length) {
        int crc = -1;
        for (int i = 0; i < length; i++) {
            crc ^= bytes[i] & 0xFF;
            for (int bit = 0; bit < 8; bit++) {
                crc = (crc >>> 1) ^ (0x82F63B78 & -(crc & 1));
            }
        }
        return ~crc;
    }
}
