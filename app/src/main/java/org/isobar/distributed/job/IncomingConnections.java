package org.isobar.distributed.job;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

/** Listens for connections from the other ranks of the job, and keeps those that have arrived. */
final class IncomingConnections implements Closeable {
    private final Map<Key, CompletableFuture<Connection>> connections = new ConcurrentHashMap<>();
    private AuthenticatedListener listener;

    /**
     * Identifies a connection.
     *
     * @param rank    the rank that opened it
     * @param purpose what the two ranks use it for
     * @param count   distinguishes connections of the same rank and purpose, from 1
     */
    record Key(int rank, String purpose, int count) {
        /** Announces a new connection to its other end. */
        void write(Connection connection) throws IOException {
            connection.out().writeInt(rank);
            connection.out().writeUTF(purpose);
            connection.out().writeInt(count);
            connection.out().flush();
        }
    }

    /** Starts to listen on a free port. */
    void listen(Transport transport, InetAddress address, JobSecret secret) throws IOException {
        listener = AuthenticatedListener.onFreePort(transport, address, secret, this::accepted);
    }

    /** The address to announce. */
    InetSocketAddress address() throws IOException {
        return listener.address();
    }

    private void accepted(Connection connection) throws IOException {
        Key key = new Key(connection.in().readInt(), connection.in().readUTF(), connection.in().readInt());
        connection.unlimited();
        if (!of(key).complete(connection)) { // the job has failed and accept has thrown
            connection.close();
        }
    }

    /** The connection, when it has arrived. */
    CompletableFuture<Connection> of(Key key) {
        return connections.computeIfAbsent(key, any -> new CompletableFuture<>());
    }

    /** Forgets a connection, which its user closes. */
    void remove(Key key) {
        connections.remove(key);
    }

    /** Stops listening and closes every connection that has arrived and is not removed. */
    @Override
    public void close() {
        if (listener != null) {
            listener.close();
        }
        connections.values().forEach(connection -> connection.thenAccept(Connection::close));
    }
}
