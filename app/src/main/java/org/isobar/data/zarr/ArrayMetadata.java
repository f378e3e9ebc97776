package org.isobar.data.zarr;

import java.nio.ByteOrder;
import java.util.List;

import org.isobar.data.source.ArrayAttributes;
import org.isobar.data.source.NumberType;

/**
 * What the metadata of an array say.
 *
 * @param name       its name
 * @param dims       names of its dimensions
 * @param shape      its extents
 * @param chunk      extents of the chunks that are files of their own
 * @param type       type of its elements
 * @param byteOrder  byte order of a decoded chunk
 * @param dimOrder   the dimensions in the order in which a decoded chunk has them, outermost first
 * @param fill       the element of chunks that do not exist, in {@code byteOrder}; null if there is none
 * @param keys       file names of its chunks
 * @param encoding   how its chunks are encoded
 * @param attributes its attributes
 */
record ArrayMetadata(String name, List<String> dims, int[] shape, int[] chunk, NumberType type, ByteOrder byteOrder,
                     int[] dimOrder, byte[] fill, ChunkKeys keys, ChunkEncoding encoding, ArrayAttributes attributes) {
    /**
     * File names of chunks, relative to the directory of the array.
     *
     * @param prefix    what all of them begin with
     * @param separator what is between the numbers of a chunk
     * @param scalar    the only chunk of an array without dimensions
     */
    record ChunkKeys(String prefix, String separator, String scalar) {
        /** The file of a chunk. */
        String of(int[] index) {
            if (index.length == 0) {
                return scalar;
            }
            StringBuilder key = new StringBuilder(prefix);
            for (int i = 0; i < index.length; i++) {
                key.append(i == 0 ? "" : separator).append(index[i]);
            }
            return key.toString();
        }
    }

    /**
     * How chunks are encoded.
     *
     * @param codecs    in the order of decoding; of the inner chunks, if a file has several
     * @param inner     extents of the chunks that a file has several of; null if a file is one chunk
     * @param indexLast whether the offsets of the inner chunks are at the end of the file, else at its beginning
     * @param indexSum  whether a checksum follows the offsets
     * @param refusal   why chunks cannot be decoded; null if they can
     * @param label     names of the codecs
     */
    record ChunkEncoding(List<ByteCodec> codecs, int[] inner, boolean indexLast, boolean indexSum, String refusal,
                         String label) { }

    /** Extents of the chunks that are decoded as a whole. */
    int[] decoded() {
        return encoding.inner == null ? chunk : encoding.inner;
    }
}
