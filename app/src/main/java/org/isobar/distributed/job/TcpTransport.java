package org.isobar.distributed.job;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;

import org.isobar.os.QuietClose;

/** Connections over TCP. */
final class TcpTransport implements Transport {
    @Override
    public Port listen(InetSocketAddress address, int backlog) throws IOException {
        ServerSocketChannel listener = ServerSocketChannel.open();
        try {
            listener.bind(address, backlog);
            return new TcpPort(listener);
        } catch (IOException | RuntimeException failed) {
            listener.close();
            throw failed;
        }
    }

    @Override
    public Connection connect(InetSocketAddress address, Duration limit) throws IOException {
        SocketChannel channel = SocketChannel.open();
        try {
            channel.socket().connect(address, Connection.millis(limit));
            return new Connection(channel);
        } catch (IOException | RuntimeException failed) {
            channel.close();
            throw failed;
        }
    }

    @Override
    public void start(String name, Runnable service) {
        Thread.ofPlatform().daemon().name(name).start(service);
    }

    private record TcpPort(ServerSocketChannel listener) implements Port {
        @Override
        public Connection accept() throws IOException {
            while (true) {
                SocketChannel channel = listener.accept();
                try {
                    return new Connection(channel);
                } catch (IOException lost) { // the caller has ended the connection already
                    QuietClose.close(channel);
                }
            }
        }

        @Override
        public InetSocketAddress address() throws IOException {
            return (InetSocketAddress) listener.getLocalAddress();
        }

        @Override
        public boolean isOpen() {
            return listener.isOpen();
        }

        @Override
        public void close() throws IOException {
            listener.close();
        }
    }
}
