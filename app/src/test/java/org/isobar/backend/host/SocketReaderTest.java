package org.isobar.backend.host;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Blocking channels, whose readers sleep, and non-blocking ones, whose readers poll and then sleep, behave alike. */
@Timeout(20)
class SocketReaderTest {
    /** Much longer than a reader polls. */
    private static final long ASLEEP_MILLIS = 50;

    private final AtomicInteger arrivals = new AtomicInteger();
    private SocketChannel peer;
    private SocketChannel channel;
    private SocketReader reader;

    private void open(boolean blocking) throws IOException {
        try (ServerSocketChannel server = ServerSocketChannel.open()) {
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            peer = SocketChannel.open(server.getLocalAddress());
            channel = server.accept();
        }
        channel.configureBlocking(blocking);
        reader = new SocketReader(channel, 5, arrivals::incrementAndGet);
    }

    @AfterEach
    void close() throws IOException {
        reader.close();
        peer.close();
    }

    private void send(String text) throws IOException {
        peer.write(ByteBuffer.wrap(text.getBytes(US_ASCII)));
    }

    private CompletableFuture<String> read(int bytes) {
        CompletableFuture<String> result = new CompletableFuture<>();
        readOnThread(bytes, result);
        return result;
    }

    private Thread readOnThread(int bytes, CompletableFuture<String> result) {
        return Thread.ofPlatform().daemon().start(() -> {
            ByteBuffer buffer = ByteBuffer.allocate(bytes);
            try {
                reader.read(buffer);
                result.complete(new String(buffer.array(), US_ASCII));
            } catch (IOException broken) {
                result.complete(broken.getMessage());
            }
        });
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void readsDataThatIsThereThatArrivesSoonAndThatArrivesLate(boolean blocking) throws Exception {
        open(blocking);
        send("abc");
        assertEquals("abc", read(3).get());
        CompletableFuture<String> late = read(4);
        Thread.sleep(ASLEEP_MILLIS);
        send("de");
        Thread.sleep(ASLEEP_MILLIS);
        assertFalse(late.isDone());
        send("fg");
        assertEquals("defg", late.get());
        assertEquals(3, arrivals.get());
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void closeWakesReader(boolean blocking) throws Exception {
        open(blocking);
        CompletableFuture<String> read = read(1);
        Thread.sleep(ASLEEP_MILLIS);
        reader.close();
        String reason = blocking ? "AsynchronousCloseException" : "ClosedChannelException";
        assertEquals("the connection from rank 5 is broken (" + reason + ")", read.get());
        assertEquals("the connection from rank 5 is broken (ClosedChannelException)", read(1).get());
        assertEquals(-1, peer.read(ByteBuffer.allocate(1)));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void interruptWakesReaderAndClosesChannel(boolean blocking) throws Exception {
        open(blocking);
        CompletableFuture<String> read = new CompletableFuture<>();
        Thread thread = readOnThread(1, read);
        Thread.sleep(ASLEEP_MILLIS);
        thread.interrupt();
        assertEquals("the connection from rank 5 is broken (ClosedByInterruptException)", read.get());
        assertFalse(channel.isOpen());
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void endOfStreamIsBrokenConnection(boolean blocking) throws Exception {
        open(blocking);
        send("a");
        CompletableFuture<String> read = read(2);
        Thread.sleep(ASLEEP_MILLIS);
        peer.close();
        assertEquals("the connection from rank 5 is broken (end of stream)", read.get());
    }

    /** A rank may wait for minutes: polling must end. */
    @Test
    void sleepsIfDataIsLate() throws Exception {
        open(false);
        CompletableFuture<String> read = new CompletableFuture<>();
        Thread thread = readOnThread(1, read);
        Thread.sleep(ASLEEP_MILLIS);
        long polled = cpuNanos(thread);
        Thread.sleep(ASLEEP_MILLIS);
        assertTrue(cpuNanos(thread) - polled < TimeUnit.MILLISECONDS.toNanos(ASLEEP_MILLIS) / 2);
        send("z");
        assertEquals("z", read.get());
    }

    private static long cpuNanos(Thread thread) {
        return ManagementFactory.getThreadMXBean().getThreadCpuTime(thread.threadId());
    }
}
