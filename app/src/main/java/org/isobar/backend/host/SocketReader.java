package org.isobar.backend.host;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;

/** Reads from the socket of one peer directly into tensors and buffers, blocking. */
final class SocketReader implements GroupLinks.Reader, Closeable {
    private final SocketChannel channel;
    private final int peer;
    private final Runnable progressed;

    /** Reads from rank {@code peer}. Takes over the channel. Runs {@code progressed} whenever data has arrived. */
    SocketReader(SocketChannel channel, int peer, Runnable progressed) {
        this.channel = channel;
        this.peer = peer;
        this.progressed = progressed;
    }

    @Override
    public void read(ByteBuffer bytes) throws IOException {
        try {
            while (bytes.hasRemaining()) {
                if (channel.read(bytes) < 0) {
                    throw new EOFException("end of stream");
                }
                progressed.run();
            }
        } catch (IOException thrown) {
            throw broken("the connection from rank " + peer, thrown);
        }
    }

    /** The exception for a broken connection. If the JDK gives no message, it contains the exception's class name. */
    static IOException broken(String connection, IOException thrown) {
        String reason = thrown.getMessage() == null ? thrown.getClass().getSimpleName() : thrown.getMessage();
        return new IOException(connection + " is broken (" + reason + ")", thrown);
    }

    @Override
    public void close() {
        closeQuietly(channel);
    }

    /** Closes a channel and ignores a failure to do so. */
    static void closeQuietly(SocketChannel channel) {
        try {
            channel.close();
        } catch (IOException ignored) {
            return;
        }
    }
}
