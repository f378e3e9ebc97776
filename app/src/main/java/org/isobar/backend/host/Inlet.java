package org.isobar.backend.host;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/** The receiving end of a connection: reads straight into the memory where bytes belong. */
final class Inlet implements Closeable {
    private final SocketChannel channel;
    private final int peer;
    private final Runnable progressed;

    /** Reads what rank {@code peer} writes, and closes the channel; {@code progressed} runs when something has come. */
    Inlet(SocketChannel channel, int peer, Runnable progressed) {
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
            throw new IOException("the connection from rank " + peer + " is broken (" + broken.getMessage() + ")",
                broken);
        }
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
