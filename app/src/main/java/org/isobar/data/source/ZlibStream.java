package org.isobar.data.source;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.zip.Adler32;

import io.airlift.compress.v3.deflate.DeflateDecompressor;
import org.isobar.os.NativeCache;

/**
 * Decompresses streams in zlib's format (RFC 1950): a header of two bytes, Deflate, and a checksum. It uses libdeflate
 * where that can be loaded, which is faster than Java's own library. Only one thread may use it at a time.
 */
public final class ZlibStream {
    private static final ValueLayout.OfByte BYTE = ValueLayout.JAVA_BYTE;
    private static final ValueLayout.OfInt CHECKSUM =
        ValueLayout.JAVA_INT_UNALIGNED.withOrder(ByteOrder.BIG_ENDIAN);
    private static final int PIECE_BYTES = 8 << 10;
    private static final int HEADER_BYTES = 2;
    private static final int METHOD = 8; // Deflate, in the lower four bits of the first byte
    private static final int METHOD_BITS = 0xF;
    private static final int DICTIONARY = 0x20; // bit of the second byte
    private static final int DIVISOR = 31; // of both bytes as a number

    private final DeflateDecompressor decompressor;

    /** Loads the library. */
    public ZlibStream() {
        NativeCache.prepare(System.getenv()); // before the library is unpacked
        decompressor = DeflateDecompressor.create();
    }

    /**
     * Decompresses a stream.
     *
     * @param stream all of it, and nothing else
     * @param target receives the bytes
     * @return whether the stream is whole, and has as many bytes as {@code target}
     */
    public boolean decompress(MemorySegment stream, MemorySegment target) {
        long end = stream.byteSize() - Integer.BYTES;
        if (end < HEADER_BYTES || !hasHeader(stream)) {
            return false;
        }
        try {
            long bytes = decompressor.decompress(stream.asSlice(HEADER_BYTES, end - HEADER_BYTES), target);
            return bytes == target.byteSize() && checksum(target) == stream.get(CHECKSUM, end);
        } catch (RuntimeException damaged) { // libdeflate and Java's library throw different ones
            return false;
        }
    }

    /** Adds pieces: what is called often is compiled, and then the checksum is one of the processor's vectors. */
    private static int checksum(MemorySegment bytes) {
        Adler32 sum = new Adler32();
        ByteBuffer buffer = bytes.asByteBuffer();
        while (buffer.hasRemaining()) {
            int piece = Math.min(PIECE_BYTES, buffer.remaining());
            sum.update(buffer.slice(buffer.position(), piece));
            buffer.position(buffer.position() + piece);
        }
        return (int) sum.getValue();
    }

    private static boolean hasHeader(MemorySegment stream) {
        int first = stream.get(BYTE, 0) & 0xFF;
        int second = stream.get(BYTE, 1) & 0xFF;
        return (first & METHOD_BITS) == METHOD && (second & DICTIONARY) == 0
            && (first << Byte.SIZE | second) % DIVISOR == 0;
    }
}
