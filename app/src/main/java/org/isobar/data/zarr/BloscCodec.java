package org.isobar.data.zarr;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.OptionalInt;
import java.util.stream.LongStream;

import org.isobar.data.source.Unshuffle;
import org.isobar.data.zarr.Scratch.Format;
import org.isobar.data.zarr.Scratch.Use;

/**
 * A chunk in the container format of Blosc 1: a header, the offsets of blocks, and blocks, which are filtered and then
 * compressed one by one. Compressor and filter are in the header. Reference: README_CHUNK_FORMAT.rst of c-blosc.
 */
record BloscCodec() implements ByteCodec {
    private static final ValueLayout.OfInt INT = ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.LITTLE_ENDIAN);
    private static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;
    private static final int HEADER_BYTES = 16;
    private static final int NEWEST_VERSION = 2;

    @Override
    public OptionalInt added() {
        return OptionalInt.empty();
    }

    @Override
    public void decode(MemorySegment encoded, MemorySegment decoded, Scratch scratch) throws DamagedChunk {
        try {
            decode(ChunkBytes.of(encoded), decoded.byteSize(), 0, decoded, scratch);
        } catch (IOException impossible) {
            throw new UncheckedIOException(impossible); // memory is read without errors
        }
    }

    /**
     * Decodes a part of a chunk: the blocks that have bytes of it. Only these are read.
     *
     * @param size    number of bytes of the decoded chunk
     * @param from    offset of the part in it
     * @param decoded receives the part
     * @throws DamagedChunk if the encoded bytes are damaged, or are those of more or fewer bytes
     */
    void decode(ChunkBytes encoded, long size, long from, MemorySegment decoded, Scratch scratch)
        throws IOException, DamagedChunk {
        Header header = Header.read(encoded, size);
        if (header.isCopy()) {
            require(encoded.size() >= HEADER_BYTES + size, "it is cut off");
            encoded.read(HEADER_BYTES + from, decoded);
            return;
        }
        long[] starts = header.starts(encoded, size);
        long[] sorted = Arrays.stream(starts).sorted().toArray(); // threads may have written blocks in any order
        long end = from + decoded.byteSize();
        for (int b = (int) (from / header.blockBytes); (long) b * header.blockBytes < end; b++) {
            long start = (long) b * header.blockBytes;
            long bytes = Math.min(header.blockBytes, size - start);
            boolean isWhole = start >= from && start + bytes <= end;
            MemorySegment block = isWhole ? decoded.asSlice(start - from, bytes) : scratch.take(Use.BLOCK, bytes);
            int next = Arrays.binarySearch(sorted, starts[b] + 1);
            next = next < 0 ? -next - 1 : next;
            long stop = next == sorted.length ? encoded.size() : sorted[next];
            block(header, encoded.at(starts[b], stop - starts[b]), block, scratch);
            if (!isWhole) {
                long first = Math.max(start, from);
                MemorySegment.copy(block, first - start, decoded, first - from, Math.min(start + bytes, end) - first);
            }
        }
    }

    private static void block(Header header, MemorySegment encoded, MemorySegment decoded, Scratch scratch)
        throws DamagedChunk {
        long bytes = decoded.byteSize();
        boolean isFiltered = header.isShuffled() || header.isBitShuffled(bytes);
        MemorySegment filtered = isFiltered ? scratch.take(Use.FILTERED, bytes) : decoded;
        int parts = header.parts(bytes);
        long partBytes = bytes / parts;
        require(partBytes * parts == bytes, "its header is damaged");
        long at = 0;
        for (int p = 0; p < parts; p++) {
            require(at <= encoded.byteSize() - Integer.BYTES, "it is cut off");
            long length = encoded.get(INT, at);
            at += Integer.BYTES;
            require(length >= 0 && length <= encoded.byteSize() - at, "it is cut off or damaged");
            MemorySegment part = filtered.asSlice(p * partBytes, partBytes);
            MemorySegment compressed = encoded.asSlice(at, length);
            if (length == partBytes) {
                part.copyFrom(compressed);
            } else {
                header.decompress(compressed, part, scratch);
            }
            at += length;
        }
        if (header.isShuffled()) {
            Unshuffle.bytes(filtered, decoded, header.elementBytes);
        } else if (isFiltered) {
            Unshuffle.bits(filtered, decoded, header.elementBytes);
        }
    }

    private static void require(boolean holds, String finding) throws DamagedChunk {
        if (!holds) {
            throw new DamagedChunk("its Blosc data is damaged: " + finding);
        }
    }

    /**
     * The header of a chunk.
     *
     * @param flags        filter and compressor
     * @param elementBytes size of the elements that the filter has sorted
     * @param blockBytes   size of a block, except the last
     */
    private record Header(int flags, int elementBytes, int blockBytes) {
        private static final int FLAGS = 2;
        private static final int ELEMENT_BYTES = 3;
        private static final int BYTES = 4;
        private static final int BLOCK_BYTES = 8;
        private static final int ENCODED_BYTES = 12;
        private static final int SHUFFLED = 1;
        private static final int COPY = 2;
        private static final int BIT_SHUFFLED = 4;
        private static final int WHOLE_BLOCKS = 16;
        private static final int COMPRESSOR_BIT = 5;
        private static final int MOST_PARTS = 16;
        private static final int SMALLEST_PART = 128;

        static Header read(ChunkBytes encoded, long size) throws IOException, DamagedChunk {
            require(encoded.size() >= HEADER_BYTES, "it is cut off in its header");
            MemorySegment bytes = encoded.at(0, HEADER_BYTES);
            int version = bytes.get(BYTE, 0);
            require(version >= 1 && version <= NEWEST_VERSION, "its header has the version " + version);
            long decodedBytes = bytes.get(INT, BYTES);
            require(decodedBytes == size, "its header says " + decodedBytes + " bytes, the array's chunks have "
                + size);
            long encodedBytes = bytes.get(INT, ENCODED_BYTES);
            require(encodedBytes == encoded.size(), "its header says " + encodedBytes + " encoded bytes, it has "
                + encoded.size());
            Header header = new Header(bytes.get(BYTE, FLAGS) & 0xFF, bytes.get(BYTE, ELEMENT_BYTES) & 0xFF,
                bytes.get(INT, BLOCK_BYTES));
            require(header.elementBytes > 0 && header.blockBytes > 0, "its header has sizes of zero");
            return header;
        }

        /** Offsets of the blocks. */
        long[] starts(ChunkBytes encoded, long size) throws IOException, DamagedChunk {
            long blocks = (size + blockBytes - 1) / blockBytes;
            require(HEADER_BYTES + blocks * Integer.BYTES <= encoded.size(), "it is cut off");
            MemorySegment starts = encoded.at(HEADER_BYTES, blocks * Integer.BYTES);
            return LongStream.range(0, blocks).map(b -> starts.get(INT, b * Integer.BYTES) & 0xFFFFFFFFL).toArray();
        }

        boolean isShuffled() {
            return (flags & SHUFFLED) != 0 && elementBytes > 1;
        }

        boolean isBitShuffled(long bytes) {
            return (flags & BIT_SHUFFLED) != 0 && bytes >= elementBytes;
        }

        boolean isCopy() {
            return (flags & COPY) != 0;
        }

        /** Number of parts of a block that are compressed one by one. */
        int parts(long bytes) {
            boolean isSplit = (flags & WHOLE_BLOCKS) == 0 && bytes == blockBytes && elementBytes <= MOST_PARTS
                && bytes / elementBytes >= SMALLEST_PART;
            return isSplit ? elementBytes : 1;
        }

        void decompress(MemorySegment part, MemorySegment target, Scratch scratch) throws DamagedChunk {
            switch (flags >> COMPRESSOR_BIT) {
                case 0 -> BloscLz.decompress(part, target);
                case 1 -> scratch.decompress(Format.LZ4, part, target);
                case 2 -> scratch.decompress(Format.SNAPPY, part, target);
                case 3 -> new DeflateCodec(false).decode(part, target, scratch);
                case 4 -> scratch.decompress(Format.ZSTD, part, target);
                default -> throw new DamagedChunk("its Blosc data has the unknown compressor "
                    + (flags >> COMPRESSOR_BIT));
            }
        }
    }
}
