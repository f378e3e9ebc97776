package org.isobar.backend.host;

import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;

import org.isobar.os.QuietClose;

/**
 * Reads from the socket of one peer directly into tensors and buffers. The caller waits for data: on a blocking channel
 * it sleeps; on a non-blocking one it first polls for {@link #POLL_NANOS}, because a peer that computes the same step
 * answers soon, and waking a thread may take as long as the answer.
 */
final class SocketReader implements GroupLinks.Reader, Closeable {
    private static final long POLL_NANOS = 200_000;

    private final SocketChannel channel;
    private final int peer;
    private final Runnable progressed;
    private final Selector readable; // wakes when data has arrived; null for a blocking channel

    /** Reads from rank {@code peer}. Takes over the channel. Runs {@code progressed} whenever data has arrived. */
    SocketReader(SocketChannel channel, int peer, Runnable progressed) throws IOException {
        this.channel = channel;
        this.peer = peer;
        this.progressed = progressed;
        readable = channel.isBlocking() ? null : selector(channel, SelectionKey.OP_READ);
    }

    /** A selector that wakes when the non-blocking channel is ready for the operation. */
    static Selector selector(SocketChannel channel, int operation) throws IOException {
        Selector selector = Selector.open();
        try {
            channel.register(selector, operation);
            return selector;
        } catch (IOException closed) {
            selector.close();
            throw closed;
        }
    }

    @Override
    public void read(ByteBuffer bytes) throws IOException {
        try {
            while (bytes.hasRemaining()) {
                if (receive(bytes) < 0) {
                    throw new EOFException("end of stream");
                }
                progressed.run();
            }
        } catch (IOException thrown) {
            throw broken("the connection from rank " + peer, thrown);
        }
    }

    /** Waits for data and reads what there is of it. Returns the number of bytes, or -1 at the end of the stream. */
    private int receive(ByteBuffer bytes) throws IOException {
        long start = System.nanoTime();
        int count = channel.read(bytes);
        while (count == 0) {
            if (System.nanoTime() - start < POLL_NANOS) {
                Thread.yield();
            } else {
                sleep();
            }
            count = channel.read(bytes);
        }
        return count;
    }

    /** Sleeps until data arrives. As in a blocking read, an interrupt closes the channel. */
    private void sleep() throws IOException {
        try {
            readable.select(ready -> { });
        } catch (ClosedSelectorException closed) {
            return; // the channel was closed first: the next read fails
        }
        if (Thread.currentThread().isInterrupted()) {
            close();
            throw new ClosedByInterruptException();
        }
    }

    /** The exception for a broken connection. If the JDK gives no message, it contains the exception's class name. */
    static IOException broken(String connection, IOException thrown) {
        String reason = thrown.getMessage() == null ? thrown.getClass().getSimpleName() : thrown.getMessage();
        return new IOException(connection + " is broken (" + reason + ")", thrown);
    }

    @Override
    public void close() {
        QuietClose.close(channel);
        if (readable != null) {
            QuietClose.close(readable);
        }
    }
}
