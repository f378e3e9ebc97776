package org.isobar.telemetry;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.CRC32C;

/**
 * The framing of records in TensorFlow's record files: length (8 bytes, little-endian), masked CRC32C of the length (4
 * bytes), data, masked CRC32C of the data (4 bytes). Source: tensorflow/core/lib/io/record_writer.h and hash/crc32c.h.
 */
final class TfRecord {
    private static final int FRAME_BYTES = Long.BYTES + 2 * Integer.BYTES;
    private static final int MASK_ROTATION = 15;
    private static final int MASK_DELTA = 0xA282EAD8;

    private TfRecord() { }

    /** The record of {@code data}, ready to be written. */
    static ByteBuffer frame(byte[] data) {
        ByteBuffer record = ByteBuffer.allocate(FRAME_BYTES + data.length).order(ByteOrder.LITTLE_ENDIAN);
        record.putLong(data.length);
        record.putInt(maskedChecksum(record.array(), Long.BYTES));
        record.put(data);
        record.putInt(maskedChecksum(data, data.length));
        return record.flip();
    }

    /** Whether the next {@code bytes} bytes of a stream are one or more complete records. The stream must have them. */
    static boolean areNext(InputStream stream, long bytes) throws IOException {
        long left = bytes;
        while (left >= FRAME_BYTES) {
            byte[] head = stream.readNBytes(Long.BYTES + Integer.BYTES);
            long length = ByteBuffer.wrap(head).order(ByteOrder.LITTLE_ENDIAN).getLong();
            if (length < 0 || length > left - FRAME_BYTES) {
                return false;
            }
            byte[] data = stream.readNBytes((int) length);
            ByteBuffer found = ByteBuffer.allocate(FRAME_BYTES + data.length);
            found.put(head).put(data).put(stream.readNBytes(Integer.BYTES)).flip();
            if (!found.equals(frame(data))) {
                return false;
            }
            left -= FRAME_BYTES + length;
        }
        return bytes > 0 && left == 0;
    }

    private static int maskedChecksum(byte[] data, int length) {
        CRC32C checksum = new CRC32C();
        checksum.update(data, 0, length);
        return Integer.rotateRight((int) checksum.getValue(), MASK_ROTATION) + MASK_DELTA;
    }
}
