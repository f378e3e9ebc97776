package org.isobar.data.source;

import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.zip.DataFormatException;
import java.util.zip.Inflater;

/**
 * Decodes a chunk of HDF5's usual filters, deflate with or without shuffle, into an array of exactly its size. A
 * general decoder grows its output several times.
 */
final class DeflatedChunk {
    private DeflatedChunk() { }

    /**
     * Decodes a chunk.
     *
     * @param raw          the chunk as stored
     * @param bytes        its size when it is decoded
     * @param shuffledSize size of an element whose bytes were shuffled; 1 if they were not
     * @return empty if the chunk is not exactly so many deflated bytes, as one that was stored without the filter
     */
    static Optional<byte[]> decode(ByteBuffer raw, int bytes, int shuffledSize) {
        byte[] inflated = new byte[bytes];
        Inflater inflater = new Inflater();
        try {
            inflater.setInput(raw);
            int done = 0;
            while (done < bytes && !inflater.finished()) {
                int count = inflater.inflate(inflated, done, bytes - done);
                if (count == 0 && !inflater.finished()) {
                    return Optional.empty();
                }
                done += count;
            }
            boolean whole = done == bytes && inflater.inflate(new byte[1]) == 0 && inflater.finished(); // checksum
            return whole ? Optional.of(unshuffled(inflated, shuffledSize)) : Optional.empty();
        } catch (DataFormatException other) {
            return Optional.empty();
        } finally {
            inflater.end();
        }
    }

    /** Puts the bytes of an element together: all first bytes come first, then all second ones. */
    private static byte[] unshuffled(byte[] shuffled, int size) {
        if (size == 1) {
            return shuffled;
        }
        byte[] bytes = new byte[shuffled.length];
        int count = shuffled.length / size;
        for (int b = 0; b < size; b++) {
            int from = b * count;
            for (int i = 0, to = b; i < count; i++, to += size) {
                bytes[to] = shuffled[from + i];
            }
        }
        return bytes;
    }
}
