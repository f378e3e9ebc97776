package org.isobar.data.zarr;

import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;

import io.airlift.compress.v3.Decompressor;
import io.airlift.compress.v3.MalformedInputException;
import io.airlift.compress.v3.lz4.Lz4Decompressor;
import io.airlift.compress.v3.snappy.SnappyDecompressor;
import io.airlift.compress.v3.zstd.ZstdDecompressor;
import org.isobar.os.NativeCache;

/** Memory and decompressors of a thread that reads chunks. Only one thread may use it at a time. */
final class Scratch implements AutoCloseable {
    private final Arena[] arenas = new Arena[Use.values().length];
    private final MemorySegment[] segments = new MemorySegment[Use.values().length];
    private final Decompressor[] decompressors = new Decompressor[Format.values().length];

    /** What a piece of memory is used for. */
    enum Use {
        /** A chunk as it is in the file. */
        ENCODED,
        /** A chunk between two codecs. */
        STAGE,
        /** A chunk between two codecs, of which the first has its input in {@link #STAGE}. */
        OTHER_STAGE,
        /** A decoded chunk. */
        DECODED,
        /** A block of Blosc before its filter. */
        FILTERED,
        /** A block of Blosc of which a part is needed. */
        BLOCK
    }

    /** Formats of compressed blocks. */
    enum Format {
        LZ4, ZSTD, SNAPPY
    }

    /** Memory of a size, with undefined contents. It is valid until the next call for the same use. */
    MemorySegment take(Use use, long bytes) {
        int slot = use.ordinal();
        if (segments[slot] == null || segments[slot].byteSize() < bytes) {
            release(slot);
            arenas[slot] = Arena.ofShared(); // another thread may use, or close, it later
            segments[slot] = arenas[slot].allocate(bytes, Long.BYTES);
        }
        return segments[slot].asSlice(0, bytes);
    }

    /**
     * Decompresses a block.
     *
     * @throws DamagedChunk if the block is damaged, or has not as many bytes as {@code target}
     */
    void decompress(Format format, MemorySegment block, MemorySegment target) throws DamagedChunk {
        int bytes;
        try {
            bytes = decompressor(format).decompress(block, target);
        } catch (MalformedInputException | IllegalArgumentException | IndexOutOfBoundsException damaged) {
            throw new DamagedChunk("its " + format + " data is damaged", damaged);
        }
        if (bytes != target.byteSize()) {
            throw new DamagedChunk("its " + format + " data has " + bytes + " bytes instead of " + target.byteSize());
        }
    }

    private Decompressor decompressor(Format format) {
        int slot = format.ordinal();
        if (decompressors[slot] == null) {
            NativeCache.prepare(System.getenv()); // before the library is unpacked
            decompressors[slot] = switch (format) {
                case LZ4 -> Lz4Decompressor.create();
                case ZSTD -> ZstdDecompressor.create();
                case SNAPPY -> SnappyDecompressor.create();
            };
        }
        return decompressors[slot];
    }

    @Override
    public void close() {
        for (int slot = 0; slot < arenas.length; slot++) {
            release(slot);
        }
    }

    private void release(int slot) {
        if (arenas[slot] != null) {
            arenas[slot].close();
            arenas[slot] = null;
            segments[slot] = null;
        }
    }
}
