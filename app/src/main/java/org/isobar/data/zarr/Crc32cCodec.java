package org.isobar.data.zarr;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.OptionalInt;
import java.util.zip.CRC32C;

/** A checksum behind the bytes of a chunk. */
record Crc32cCodec() implements ByteCodec {
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);

    @Override
    public OptionalInt added() {
        return OptionalInt.of(Integer.BYTES);
    }

    @Override
    public void decode(MemorySegment encoded, MemorySegment decoded, Scratch scratch) throws DamagedChunk {
        check(encoded);
        MemorySegment.copy(encoded, 0, decoded, 0, decoded.byteSize());
    }

    /**
     * Checks bytes with the checksum behind them.
     *
     * @throws DamagedChunk if it is not theirs
     */
    static void check(MemorySegment encoded) throws DamagedChunk {
        long size = encoded.byteSize() - Integer.BYTES;
        CRC32C sum = new CRC32C();
        sum.update(encoded.asSlice(0, size).asByteBuffer());
        if ((int) sum.getValue() != encoded.get(INT, size)) {
            throw new DamagedChunk("its checksum does not match its contents");
        }
    }
}
