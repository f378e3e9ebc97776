package org.isobar.distributed;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What two ranks that watch each other hear. */
class WatchTest {
    private static final TimeLimits LIMITS =
        new TimeLimits(Duration.ofSeconds(20), Duration.ofSeconds(100), Duration.ofSeconds(20));
    private Watch zero;
    private Watch one;

    @BeforeEach
    void connect() throws IOException {
        try (ServerSocketChannel door = ServerSocketChannel.open()) {
            door.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            Connection called = new Connection(SocketChannel.open(door.getLocalAddress()));
            zero = new Watch(0, Map.of(1, new Connection(door.accept())), LIMITS);
            one = new Watch(1, Map.of(0, called), LIMITS);
        }
    }

    @AfterEach
    void close() {
        one.close();
        zero.close();
    }

    /** An interrupt closes the channel that its thread writes to: this rank would be thought dead. */
    @Test
    void anInterruptedThreadTellsItsReason() {
        Thread.currentThread().interrupt();
        one.fail("the reason");
        assertTrue(Thread.interrupted());
        assertEquals(Optional.of("the reason"), zero.imminentFailure());
    }
}
