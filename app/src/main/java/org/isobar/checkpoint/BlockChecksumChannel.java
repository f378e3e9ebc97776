package org.isobar.checkpoint;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.WritableByteChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * Counts and sums up what goes to a file: a CRC32C for each block of bytes, so that a reader who needs a part of the
 * file can check that part.
 */
final class BlockChecksumChannel implements WritableByteChannel {
    private final WritableByteChannel file;
    private final int blockBytes;
    private final CRC32C sum = new CRC32C();
    private final List<Long> sums = new ArrayList<>();
    private long bytes;

    /** Sums up what it passes on to {@code file}, which the caller closes. */
    BlockChecksumChannel(WritableByteChannel file, int blockBytes) {
        this.file = file;
        this.blockBytes = blockBytes;
    }

    @Override
    public int write(ByteBuffer source) throws IOException {
        ByteBuffer taken = source.duplicate();
        int count = file.write(source);
        taken.limit(taken.position() + count);
        while (taken.hasRemaining()) {
            int part = (int) Math.min(blockBytes - bytes % blockBytes, taken.remaining());
            sum.update(taken.slice(taken.position(), part));
            taken.position(taken.position() + part);
            bytes += part;
            if (bytes % blockBytes == 0) {
                endBlock();
            }
        }
        return count;
    }

    /** What was written so far, as the manifest holds it; nothing may be written after. */
    StoredFile written() {
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
