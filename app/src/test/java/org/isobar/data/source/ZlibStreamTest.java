package org.isobar.data.source;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.Arrays;
import java.util.Random;
import java.util.zip.DeflaterOutputStream;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Streams that java.util.zip writes are decompressed; others are refused. */
class ZlibStreamTest {
    private static final int BYTES = 20_000;

    private final ZlibStream zlib = new ZlibStream();
    private final byte[] bytes = new byte[BYTES];
    private final byte[] stream;

    ZlibStreamTest() throws IOException {
        new Random(1).nextBytes(bytes);
        Arrays.fill(bytes, 100, 9000, (byte) 7);
        ByteArrayOutputStream written = new ByteArrayOutputStream();
        try (DeflaterOutputStream deflater = new DeflaterOutputStream(written)) {
            deflater.write(bytes);
        }
        stream = written.toByteArray();
    }

    private boolean decompress(byte[] encoded, byte[] target) {
        return zlib.decompress(MemorySegment.ofArray(encoded), MemorySegment.ofArray(target));
    }

    @Test
    void aStreamHasItsBytes() {
        byte[] target = new byte[BYTES];
        assertTrue(decompress(stream, target));
        assertArrayEquals(bytes, target);
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 1, -BYTES})
    void anotherSizeIsRefused(int more) {
        assertFalse(decompress(stream, new byte[BYTES + more]));
    }

    @Test
    void eachCutIsRefused() {
        for (int size = 0; size < stream.length; size += size < 20 ? 1 : 501) {
            assertFalse(decompress(Arrays.copyOf(stream, size), new byte[BYTES]), "cut to " + size);
        }
    }

    @Test
    void aChangedByteIsRefused() {
        for (int i = 0; i < stream.length; i += i < 20 || i > stream.length - 20 ? 1 : 501) {
            byte[] changed = stream.clone();
            changed[i] ^= i == 0 ? (byte) 1 : (byte) 0x20;
            assertFalse(decompress(changed, new byte[BYTES]), "byte " + i);
        }
    }
}
