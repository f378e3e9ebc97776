package org.isobar.backend.host;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/** The receiving end of a connection: reads straight into the memory where bytes belong. */
final class SocketReader implements Closeable {
    private final SocketChannel channel;
    private final int peer;
    private final Runnable progressed;

    /** Reads what rank {@code peer} writes, and closes the channel; {@code progressed} runs when something has come. */
    SocketReader(SocketChannel channel, int peer, Runnable progressed) {
        this.channel = channel;
        this.peer = peer;
        this.progressed = progressed;
    }

    /** Fills the memory, of at most 2 GiB. */
    void read(MemorySegment bytes) throws IOException {
        read(bytes.asByteBuffer());
    }

    /** Fills the buffer. */
    void read(ByteBuffer bytes) throws IOException {
        try {
            while (bytes.hasRemaining()) {
                if (channel.read(bytes) < 0) {
                    throw new EOFException("at its end");
                }
                progressed.run();
            }
        } catch (IOException broken) {
            throw broken("the connection from rank " + peer, broken);
        }
    }

    /** What is said of a connection; where the JDK gives no reason, as for an interrupt, its exception's name. */
    static IOException broken(String connection, IOException thrown) {
        String reason = thrown.getMessage() == null ? thrown.getClass().getSimpleName() : thrown.getMessage();
        return new IOException(connection + " is broken (" + reason + ")", thrown);
    }

    @Override
    public void close() {
        closeQuietly(channel);
    }

    /** Closes a connection that is of no more use, so that its failure does not matter. */
    static void closeQuietly(SocketChannel channel) {
        try {
            channel.close();
        } catch (IOException gone) { // closed it is, one way or the other
            return;
        }
    }
}
