package org.isobar.checkpoint;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * A channel that computes a CRC32C for each block of the bytes written through it. A reader that needs a part of the
 * file can then check only the blocks of that part.
 */
final class BlockChecksumChannel implements WritableByteChannel {
    private final WritableByteChannel file;
    private final int blockBytes;
    private final CRC32C sum = new CRC32C();
    private final List<Long> sums = new ArrayList<>();
    private long bytes;

    /** Creates a channel that passes all bytes on to {@code file}, which the caller closes. */
    BlockChecksumChannel(WritableByteChannel file, int blockBytes) {
        this.file = file;
        this.blockBytes = blockBytes;
    }

    @Override
    public int write(ByteBuffer source) throws IOException {
        int end = source.limit();
        int first = source.position();
        int count = file.write(source);
        source.position(first);
        for (int rest = count; rest > 0;) {
            int part = (int) Math.min(blockBytes - bytes % blockBytes, rest);
            sum.update(source.limit(source.position() + part));
            rest -= part;
            bytes += part;
            if (bytes % blockBytes == 0) {
                endBlock();
            }
        }
        source.limit(end);
        return count;
    }

    /** Size and checksums of what was written. Nothing may be written afterwards. */
    StoredFile finish() {
        if (bytes % blockBytes != 0) {
            endBlock();
        }
        return new StoredFile(bytes, sums);
    }

    private void endBlock() {
        sums.add(sum.getValue());
        sum.reset();
    }

    @Override
    public boolean isOpen() {
        return file.isOpen();
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
