package org.isobar.distributed.job;

import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.channels.SocketChannel;
import java.time.Duration;

/** A TCP connection to another process of the job: its channel, and data streams over it. */
final class Connection implements Closeable {
    private final SocketChannel channel;
    private final DataInputStream in;
    private final DataOutputStream out;

    /** Takes over an open channel. Input is not buffered, so unread bytes stay in the channel. */
    Connection(SocketChannel channel) throws IOException {
        this.channel = channel;
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        in = new DataInputStream(channel.socket().getInputStream());
        out = new DataOutputStream(new BufferedOutputStream(channel.socket().getOutputStream()));
    }

    /**
     * Connects to a process of the job and authenticates to it. The connect and each read take at most {@code limit}.
     *
     * @throws Handshake.RefusedException if the other process does not belong to this job
     */
    static Connection open(InetSocketAddress address, JobSecret secret, Duration limit) throws IOException {
        SocketChannel channel = SocketChannel.open();
        try {
            channel.socket().connect(address, millis(limit));
            Connection connection = new Connection(channel);
            connection.limit(limit);
            Handshake.call(connection.in, connection.out, secret);
            Handshake.awaitAdmission(connection.in);
            connection.unlimited();
            return connection;
        } catch (IOException | RuntimeException failed) {
            channel.close();
            throw failed;
        }
    }

    /** Makes later reads fail if no data arrives for {@code limit}. */
    void limit(Duration limit) throws IOException {
        channel.socket().setSoTimeout(millis(limit));
    }

    /** Makes later reads wait without a limit. */
    void unlimited() throws IOException {
        channel.socket().setSoTimeout(0);
    }

    private static int millis(Duration limit) {
        return Math.clamp(limit.toMillis(), 1, Integer.MAX_VALUE);
    }

    SocketChannel channel() {
        return channel;
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
        closeQuietly(channel);
    }

    /** Closes {@code closeable} and ignores a failure to do so: it is no longer used. */
    static void closeQuietly(Closeable closeable) {
        try {
            closeable.close();
        } catch (IOException ignored) {
            return;
        }
    }
}
