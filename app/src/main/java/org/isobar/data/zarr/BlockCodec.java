package org.isobar.data.zarr;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.OptionalInt;

import org.isobar.data.zarr.Scratch.Format;

/**
 * A chunk that is one compressed block: Zstandard, or LZ4 with the size in front, as numcodecs writes it.
 *
 * @param format format of the block
 */
record BlockCodec(Format format) implements ByteCodec {
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    @Override
    public OptionalInt added() {
        return OptionalInt.empty();
    }

    @Override
    public void decode(MemorySegment encoded, MemorySegment decoded, Scratch scratch) throws DamagedChunk {
        if (format == Format.LZ4) {
            if (encoded.byteSize() <= Integer.BYTES || encoded.get(INT, 0) != decoded.byteSize()) {
                throw new DamagedChunk("its LZ4 header is not that of " + decoded.byteSize() + " bytes");
            }
            scratch.decompress(format, encoded.asSlice(Integer.BYTES), decoded);
        } else {
            scratch.decompress(format, encoded, decoded);
        }
    }
}
