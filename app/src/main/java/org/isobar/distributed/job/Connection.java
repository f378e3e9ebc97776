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

/** A TCP connection to another process of the job, as a pair of streams and as the channel below them. */
final class Connection implements Closeable {
    private final SocketChannel channel;
    private final DataInputStream in;
    private final DataOutputStream out;

    /** Takes over an open channel. Reading is not buffered: what follows on the channel stays on the channel. */
    Connection(SocketChannel channel) throws IOException {
        this.channel = channel;
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        in = new DataInputStream(channel.socket().getInputStream());
        out = new DataOutputStream(new BufferedOutputStream(channel.socket().getOutputStream()));
    }

    /** Connects to a process of the job and proves the secret to it, each within {@code limit}. */
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

    /** From here on a read that brings nothing for so long fails. */
    void limit(Duration limit) throws IOException {
        channel.socket().setSoTimeout(millis(limit));
    }

    /** From here on reads wait until something comes or the connection is closed. */
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

    /** Closes without complaint: whoever closes has no more use for it. */
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
