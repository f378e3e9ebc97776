package org.isobar.checkpoint;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.CRC32C;

/** What is done to a checkpoint after it was written. */
public final class Damage {
    private Damage() { }

    /** Flips one bit of a file. */
    public static void flip(Path file, long bit) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        bytes[(int) (bit / Byte.SIZE)] ^= (byte) (1 << bit % Byte.SIZE);
        Files.write(file, bytes);
    }

    /** Changes a checkpoint's manifest as its writer might have, checksum included. */
    public static void rewrite(Path checkpoint, String what, String by) throws IOException {
        String text = Files.readString(checkpoint.resolve(Manifest.FILE));
        assertTrue(text.contains(what), text);
        String summed = text.substring(0, text.lastIndexOf("  \"crc32c\"")).replace(what, by);
        CRC32C sum = new CRC32C();
        sum.update(summed.getBytes(StandardCharsets.UTF_8));
        Files.writeString(checkpoint.resolve(Manifest.FILE), summed + "  \"crc32c\" : " + sum.getValue() + "\n}\n");
    }
}
