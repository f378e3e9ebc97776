package org.isobar.data.zarr;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.util.OptionalInt;
import java.util.zip.GZIPInputStream;
import java.util.zip.InflaterInputStream;

/**
 * A chunk in one of the forms of Deflate.
 *
 * @param isGzip whether it is gzip (RFC 1952), else zlib (RFC 1950)
 */
record DeflateCodec(boolean isGzip) implements ByteCodec {
    private static final int BUFFER_BYTES = 1 << 16;

    @Override
    public OptionalInt added() {
        return OptionalInt.empty();
    }

    @Override
    public void decode(MemorySegment encoded, MemorySegment decoded, Scratch scratch) throws DamagedChunk {
        InputStream bytes = new ByteArrayInputStream(encoded.toArray(ValueLayout.JAVA_BYTE));
        String name = isGzip ? "gzip" : "zlib";
        try (InputStream inflated = isGzip ? new GZIPInputStream(bytes, BUFFER_BYTES)
            : new InflaterInputStream(bytes)) {
            byte[] buffer = new byte[BUFFER_BYTES];
            long at = 0;
            for (int n = inflated.read(buffer); n >= 0; n = inflated.read(buffer)) {
                if (n > decoded.byteSize() - at) {
                    throw new DamagedChunk("its " + name + " data has more than " + decoded.byteSize() + " bytes");
                }
                MemorySegment.copy(buffer, 0, decoded, ValueLayout.JAVA_BYTE, at, n);
                at += n;
            }
            if (at < decoded.byteSize()) {
                throw new DamagedChunk("its " + name + " data has " + at + " bytes instead of " + decoded.byteSize());
            }
        } catch (IOException damaged) {
            throw new DamagedChunk("its " + name + " data is damaged or cut off", damaged);
        }
    }
}
