package org.isobar.distributed.job;

import java.io.Closeable;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.time.Duration;

/** How the processes of a job reach each other: {@link TcpTransport}; in tests also the memory of one process. */
interface Transport {
    /**
     * Listens on {@code address}. Port 0 chooses a free port.
     *
     * @param backlog number of connections that may wait to be accepted; the system may allow fewer
     */
    Port listen(InetSocketAddress address, int backlog) throws IOException;

    /** The address of a machine. */
    default InetAddress resolve(String name) throws UnknownHostException {
        return InetAddress.getByName(name);
    }

    /** Connects to an address within {@code limit}. */
    Connection connect(InetSocketAddress address, Duration limit) throws IOException;

    /** Starts a daemon thread that serves a rank during all of its job. */
    void start(String name, Runnable service);

    /** Returns bytes that are equal to the given ones, so that ranks of one process need not each keep a copy. */
    default byte[] kept(byte[] bytes) {
        return bytes;
    }

    /** A listening port. */
    interface Port extends Closeable {
        /**
         * Waits for the next connection.
         *
         * @throws java.nio.channels.ClosedChannelException if the port is closed
         */
        Connection accept() throws IOException;

        /** Its address and port number. */
        InetSocketAddress address() throws IOException;

        /** Whether it has not been closed. */
        boolean isOpen();
    }
}
