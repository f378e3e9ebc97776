package org.isobar.distributed.job;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Reports of failures between ranks. */
class FailureDetectorTest {
    private static final TimeLimits LIMITS =
        new TimeLimits(Duration.ofSeconds(20), Duration.ofSeconds(100), Duration.ofSeconds(20));
    private static final Transport TCP = new TcpTransport();
    private static final Optional<String> REASON = Optional.of("the reason");
    private FailureDetector zero;
    private FailureDetector one;
    private FailureDetector two;

    @BeforeEach
    void connect() throws IOException {
        try (ServerSocketChannel listener = ServerSocketChannel.open()) {
            listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            Connection toOne = new Connection(SocketChannel.open(listener.getLocalAddress()));
            one = new FailureDetector(1, Map.of(0, new Connection(listener.accept())), LIMITS, TCP);
            Connection toTwo = new Connection(SocketChannel.open(listener.getLocalAddress()));
            two = new FailureDetector(2, Map.of(0, new Connection(listener.accept())), LIMITS, TCP);
            zero = new FailureDetector(0, Map.of(1, toOne, 2, toTwo), LIMITS, TCP);
        }
    }

    @AfterEach
    void close() {
        one.close();
        two.close();
        zero.close();
    }

    /** An interrupt during a write closes the channel, and the peers would report this rank as dead. */
    @Test
    void anInterruptedThreadReportsItsFailure() {
        Thread.currentThread().interrupt();
        one.fail("the reason");
        assertTrue(Thread.interrupted());
        assertEquals(REASON, zero.imminentFailure());
        assertEquals(REASON, two.imminentFailure());
    }

    @Test
    void anInterruptedThreadLeavesTheJob() {
        Thread.currentThread().interrupt();
        one.close();
        assertTrue(Thread.interrupted());
        two.close();
        zero.close(); // after both have left
        assertEquals(Optional.empty(), zero.failure());
    }

    /** The cause may be a failure that another rank is about to report. */
    @Test
    void anInterruptedThreadWaitsForTheReason() {
        CompletableFuture.delayedExecutor(100, TimeUnit.MILLISECONDS).execute(() -> two.fail("the reason"));
        Thread.currentThread().interrupt();
        assertEquals(REASON, one.imminentFailure());
        assertTrue(Thread.interrupted());
    }

    @Test
    void aFailureRunsListenersThatAreNotClosed() {
        List<String> told = new ArrayList<>();
        one.onFailure(() -> told.add("kept"));
        one.onFailure(() -> told.add("closed")).close();
        one.fail("the reason");
        one.fail("another");
        assertEquals(List.of("kept"), told);
        one.onFailure(() -> told.add("late")).close();
        assertEquals(List.of("kept", "late"), told);
    }

    /** Rank 0 has said farewell, but stays to forward failures until the others have left. */
    @Test
    void rankZeroForwardsFailuresUntilTheOthersHaveLeft() throws InterruptedException {
        Thread leaving = Thread.startVirtualThread(zero::close);
        Thread.sleep(100); // so that its farewell arrives first; the assertions hold in either order
        two.fail("the reason");
        assertEquals(REASON, one.imminentFailure());
        leaving.join();
    }
}
