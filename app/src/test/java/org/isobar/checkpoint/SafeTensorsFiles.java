package org.isobar.checkpoint;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/** Files in and out of the format, put together by hand. */
final class SafeTensorsFiles {
    private SafeTensorsFiles() { }

    /** A file with a right header length. */
    static Path write(Path directory, String header, byte[] data) throws IOException {
        byte[] json = header.getBytes(StandardCharsets.UTF_8);
        return write(directory, json.length, json, data);
    }

    /** A file that claims a header of {@code headerBytes}. */
    static Path write(Path directory, long headerBytes, byte[] json, byte[] data) throws IOException {
        byte[] file = ByteBuffer.allocate(Long.BYTES + json.length + data.length).order(ByteOrder.LITTLE_ENDIAN)
            .putLong(headerBytes).put(json).put(data).array();
        return Files.write(directory.resolve("weights.safetensors"), file);
    }
}
