package org.isobar.distributed.job;

import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;
import java.time.Duration;

import org.isobar.os.QuietClose;

/** A connection to another process of the job, and data streams over it. */
final class Connection implements Closeable {
    private final SocketChannel channel; // null if it is not a TCP connection
    private final InetAddress local;
    private final DataInputStream in;
    private final DataOutputStream out;
    private final Closeable end;

    /** Takes over an open channel. Input is not buffered, so unread bytes stay in the channel. */
    Connection(SocketChannel channel) throws IOException {
        this.channel = channel;
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        local = ((InetSocketAddress) channel.getLocalAddress()).getAddress();
        in = new DataInputStream(channel.socket().getInputStream());
        out = new DataOutputStream(new BufferedOutputStream(channel.socket().getOutputStream()));
        end = channel;
    }

    /**
     * Connects two ranks in the memory of one process. Reads have no time limit.
     *
     * @param local this end's address
     * @param end   ends both directions
     */
    Connection(InetAddress local, InputStream in, OutputStream out, Closeable end) {
        channel = null;
        this.local = local;
        this.in = new DataInputStream(in);
        this.out = new DataOutputStream(new BufferedOutputStream(out, 512));
        this.end = end;
    }

    /** Makes later reads fail if no data arrives for {@code limit}. */
    void limit(Duration limit) throws IOException {
        if (channel != null) {
            channel.socket().setSoTimeout(millis(limit));
        }
    }

    /** Makes later reads wait without a limit. */
    void unlimited() throws IOException {
        if (channel != null) {
            channel.socket().setSoTimeout(0);
        }
    }

    /** A time limit in milliseconds, at least 1, as sockets take it. */
    static int millis(Duration limit) {
        return Math.clamp(limit.toMillis(), 1, Integer.MAX_VALUE);
    }

    /**
     * The channel.
     *
     * @throws IllegalStateException if this is not a TCP connection
     */
    SocketChannel channel() {
        if (channel == null) {
            throw new IllegalStateException("a connection in memory has no channel");
        }
        return channel;
    }

    /** The address of this end. */
    InetAddress local() {
        return local;
    }

    DataInputStream in() {
        return in;
    }

    DataOutputStream out() {
        return out;
    }

    /** Closes the connection and ignores a failure to do so. */
    @Override
    public void close() {
        QuietClose.close(end);
    }
}
