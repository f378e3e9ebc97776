package org.isobar.data.synthetic;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

import org.isobar.data.Hdf5Header;

/**
 * Encodes the index of the chunks of a float32 data set that are cut along its first dimension only: they follow each
 * other in the file as the elements of a contiguous data set do. One B-tree node, version 1 (III.A.1 of the "HDF5 File
 * Format Specification Version 3.0").
 */
final class Hdf5ChunkIndex {
    private static final long UNDEFINED = -1;

    private Hdf5ChunkIndex() { }

    /**
     * The index of chunks of {@code steps} entries of the first dimension, which divides it into at most 64.
     *
     * @param dataAddress where the first chunk begins
     */
    static ByteBuffer of(long[] extents, int steps, long dataAddress) {
        int chunks = Math.toIntExact(extents[0] / steps);
        if (chunks > Hdf5Header.MOST_CHUNKS || extents[0] % steps != 0) {
            throw new IllegalArgumentException(extents[0] + " entries in chunks of " + steps);
        }
        long chunkBytes = (long) steps * Float.BYTES;
        for (int dim = 1; dim < extents.length; dim++) {
            chunkBytes *= extents[dim];
        }
        ByteBuffer node = ByteBuffer.allocate(Hdf5Header.chunkIndexBytes(extents.length))
            .order(ByteOrder.LITTLE_ENDIAN);
        node.put("TREE".getBytes(StandardCharsets.US_ASCII)).put((byte) 1).put((byte) 0).putShort((short) chunks);
        node.putLong(UNDEFINED).putLong(UNDEFINED);
        for (int chunk = 0; chunk <= chunks; chunk++) {
            node.putInt(chunk < chunks ? Math.toIntExact(chunkBytes) : 0).putInt(0); // no filters
            node.putLong((long) chunk * steps);
            for (int dim = 1; dim <= extents.length; dim++) {
                node.putLong(0);
            }
            if (chunk < chunks) {
                node.putLong(dataAddress + chunk * chunkBytes);
            }
        }
        return node.rewind();
    }
}
