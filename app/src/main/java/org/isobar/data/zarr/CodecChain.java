package org.isobar.data.zarr;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.util.List;

import org.isobar.data.zarr.Scratch.Use;

/** The codecs of an array's chunks, the last one that encoded them first. */
final class CodecChain {
    private final List<ByteCodec> codecs;
    private final int compressor; // its number; the number of codecs if there is none
    private final long decodedBytes;

    /**
     * @param codecs       in the order of decoding, at most one of which compresses
     * @param decodedBytes size of a decoded chunk
     */
    CodecChain(List<ByteCodec> codecs, long decodedBytes) {
        this.codecs = List.copyOf(codecs);
        this.decodedBytes = decodedBytes;
        int number = 0;
        while (number < codecs.size() && codecs.get(number).added().isPresent()) {
            number++;
        }
        compressor = number;
    }

    /** Whether a part of a chunk can be decoded without the rest. */
    boolean isDivisible() {
        return codecs.isEmpty() || codecs.size() == 1 && codecs.getFirst() instanceof BloscCodec;
    }

    /**
     * Decodes a part of a chunk.
     *
     * @param encoded the whole chunk, of which only what is needed is read
     * @param from    offset of the part in the decoded chunk; 0 if the chain is not divisible
     * @param decoded receives the part; the whole chunk if the chain is not divisible
     */
    void decode(ChunkBytes encoded, long from, MemorySegment decoded, Scratch scratch)
        throws IOException, DamagedChunk {
        if (compressor == codecs.size() && encoded.size() != decodedBytes + added(0)) {
            throw new DamagedChunk("it has " + encoded.size() + " bytes instead of " + (decodedBytes + added(0)));
        }
        if (codecs.isEmpty()) {
            encoded.read(from, decoded);
        } else if (codecs.size() == 1 && codecs.getFirst() instanceof BloscCodec blosc) {
            blosc.decode(encoded, decodedBytes, from, decoded, scratch);
        } else {
            decode(encoded.all(), decoded, scratch);
        }
    }

    private void decode(MemorySegment encoded, MemorySegment decoded, Scratch scratch) throws DamagedChunk {
        MemorySegment bytes = encoded;
        for (int i = 0; i < codecs.size(); i++) {
            ByteCodec codec = codecs.get(i);
            long size = i < compressor ? bytes.byteSize() - codec.added().orElseThrow() : decodedBytes + added(i + 1);
            if (size < 0) {
                throw new DamagedChunk("it has " + encoded.byteSize() + " bytes");
            }
            MemorySegment target = i == codecs.size() - 1 ? decoded
                : scratch.take(i % 2 == 0 ? Use.STAGE : Use.OTHER_STAGE, size);
            codec.decode(bytes, target, scratch);
            bytes = target;
        }
    }

    /** Number of bytes that the codecs from one on add. */
    private int added(int first) {
        return codecs.stream().skip(first).mapToInt(codec -> codec.added().orElseThrow()).sum();
    }

    /** The largest number of bytes that an encoded chunk can have; with ample room for what codecs add. */
    long mostBytes() {
        return decodedBytes + decodedBytes / 8 + (1 << 20);
    }
}
