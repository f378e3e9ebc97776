package org.isobar.data.zarr;

import java.lang.foreign.MemorySegment;
import java.util.OptionalInt;

/** One step of decoding a chunk: bytes to bytes. */
interface ByteCodec {
    /** Number of bytes that it adds, whatever the bytes are; empty if it compresses. */
    OptionalInt added();

    /**
     * Decodes a chunk as a whole.
     *
     * @param encoded exactly the encoded bytes
     * @param decoded receives the decoded bytes; it is as large as they must be
     * @throws DamagedChunk if the encoded bytes are damaged, or are those of more or fewer bytes
     */
    void decode(MemorySegment encoded, MemorySegment decoded, Scratch scratch) throws DamagedChunk;
}
