package org.isobar.metrics;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

/** Encodes pictures as PNG files: 8-bit RGB, one image data chunk (W3C, "Portable Network Graphics", 2nd edition). */
final class PngEncoder {
    private static final byte[] SIGNATURE = {(byte) 0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    private static final int HEADER_BYTES = 13;
    private static final int BITS = 8;
    private static final int TRUE_COLOR = 2;
    private static final int FILTER_UP = 2;
    private static final int BUFFER_BYTES = 1 << 16;

    private PngEncoder() { }

    /** The bytes of a whole file. */
    static byte[] encode(Raster picture) {
        ByteArrayOutputStream file = new ByteArrayOutputStream();
        file.writeBytes(SIGNATURE);
        ByteBuffer header = ByteBuffer.allocate(HEADER_BYTES).putInt(picture.width()).putInt(picture.height());
        header.put((byte) BITS).put((byte) TRUE_COLOR); // then three zeros: deflate, adaptive filters, not interlaced
        chunk(file, "IHDR", header.array());
        chunk(file, "IDAT", deflate(picture));
        chunk(file, "IEND", new byte[0]);
        return file.toByteArray();
    }

    /** Compresses row by row, so that the filtered picture never exists as a whole. */
    private static byte[] deflate(Raster picture) {
        ByteArrayOutputStream compressed = new ByteArrayOutputStream(BUFFER_BYTES);
        byte[] filtered = new byte[1 + picture.rowBytes()];
        byte[] buffer = new byte[BUFFER_BYTES];
        Deflater deflater = new Deflater();
        try {
            for (int row = 0; row < picture.height(); row++) {
                filter(filtered, picture, row);
                deflater.setInput(filtered);
                while (!deflater.needsInput()) {
                    compressed.write(buffer, 0, deflater.deflate(buffer));
                }
            }
            deflater.finish();
            while (!deflater.finished()) {
                compressed.write(buffer, 0, deflater.deflate(buffer));
            }
        } finally {
            deflater.end();
        }
        return compressed.toByteArray();
    }

    /** Replaces a row by its difference from the row above, which compresses smooth fields well. */
    private static void filter(byte[] filtered, Raster picture, int row) {
        int rowBytes = picture.rowBytes();
        byte[] rgb = picture.bytes();
        filtered[0] = FILTER_UP;
        for (int i = 0, from = row * rowBytes; i < rowBytes; i++, from++) {
            filtered[1 + i] = (byte) (rgb[from] - (row == 0 ? 0 : rgb[from - rowBytes]));
        }
    }

    private static void chunk(ByteArrayOutputStream file, String type, byte[] data) {
        ByteBuffer chunk = ByteBuffer.allocate(3 * Integer.BYTES + data.length);
        chunk.putInt(data.length).put(type.getBytes(StandardCharsets.US_ASCII)).put(data);
        CRC32 checksum = new CRC32(); // of type and data
        checksum.update(chunk.array(), Integer.BYTES, Integer.BYTES + data.length);
        file.writeBytes(chunk.putInt((int) checksum.getValue()).array());
    }
}
