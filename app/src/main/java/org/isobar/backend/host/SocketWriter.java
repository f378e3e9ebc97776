package org.isobar.backend.host;

import java.io.Closeable;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.SocketChannel;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.function.Consumer;

/**
 * The sending end of a connection: takes memory in order and writes it, straight from where it lies, so that the caller
 * can receive meanwhile: on a thread of its own, or, of a channel that does not block, a little at once by the caller,
 * as far as the socket takes it, for waking a thread takes longer than writing that.
 */
final class SocketWriter implements Closeable {
    /** What one buffer can span. */
    private static final long LONGEST = 1 << 30;
    /** What the caller writes himself. */
    private static final int FEW = 1 << 18;

    private final SocketChannel channel;
    private final int peer;
    private final Consumer<IOException> broken;
    private final Selector room; // tells when the socket takes more; null if the channel waits for that itself
    private final Thread thread;
    private final Queue<Item> queue = new ArrayDeque<>();
    private long queued;
    private long sent;
    private IOException failure;

    /** Writes to rank {@code peer}, and closes the channel; {@code broken} hears of a failure. */
    SocketWriter(SocketChannel channel, int peer, String name, Consumer<IOException> broken) throws IOException {
        this.channel = channel;
        this.peer = peer;
        this.broken = broken;
        room = channel.isBlocking() ? null : room(channel);
        thread = Thread.ofPlatform().daemon().name(name).start(this::serve);
    }

    private static Selector room(SocketChannel channel) throws IOException {
        Selector room = Selector.open();
        try {
            channel.register(room, SelectionKey.OP_WRITE);
            return room;
        } catch (IOException closed) {
            room.close();
            throw closed;
        }
    }

    /**
     * Sends the bytes, which stay as they are until then.
     *
     * @return a number to wait for, by {@link #awaitSent}
     */
    long send(MemorySegment bytes) throws IOException {
        return send(bytes, null);
    }

    /** As {@link #send(MemorySegment)}; runs {@code then} when all is sent. */
    long send(MemorySegment bytes, Runnable then) throws IOException {
        long start = 0;
        for (; bytes.byteSize() - start > LONGEST; start += LONGEST) {
            send(bytes.asSlice(start, LONGEST).asByteBuffer(), null);
        }
        return send(bytes.asSlice(start).asByteBuffer(), then);
    }

    /** Sends what remains in the buffer. */
    synchronized long send(ByteBuffer bytes, Runnable then) throws IOException {
        check();
        if (then == null && bytes.remaining() <= FEW && sent == queued && !channel.isBlocking()) {
            write(bytes);
            if (!bytes.hasRemaining()) {
                sent++;
                return ++queued;
            }
        }
        queue.add(new Item(bytes, then));
        notifyAll();
        return ++queued;
    }

    /** Waits until what {@link #send} numbered so, and all before it, has left. */
    synchronized void awaitSent(long number) throws IOException, InterruptedException {
        while (sent < number) {
            check();
            wait();
        }
    }

    /** Waits until all has left. */
    synchronized void flush() throws IOException, InterruptedException {
        awaitSent(queued);
    }

    /** Whether all has left. */
    synchronized boolean idle() {
        return sent == queued;
    }

    private void check() throws IOException {
        if (failure != null) {
            throw new IOException(failure.getMessage(), failure);
        }
    }

    private void serve() {
        try (room) {
            while (true) {
                Item item = next();
                write(item.bytes());
                while (item.bytes().hasRemaining()) {
                    if (room != null) {
                        room.select(ready -> { });
                    }
                    write(item.bytes());
                }
                if (item.then() != null) {
                    item.then().run();
                }
                synchronized (this) {
                    sent++;
                    notifyAll();
                }
            }
        } catch (IOException thrown) {
            synchronized (this) {
                failure = thrown;
                notifyAll();
            }
            broken.accept(thrown);
        } catch (InterruptedException impossible) {
            throw new AssertionError("nobody interrupts this thread", impossible);
        }
    }

    /** Writes it, or of a channel that does not block as much as the socket takes now. */
    private void write(ByteBuffer bytes) throws IOException {
        try {
            channel.write(bytes);
        } catch (IOException thrown) {
            throw SocketReader.broken("the connection to rank " + peer, thrown);
        }
    }

    private synchronized Item next() throws IOException, InterruptedException {
        while (queue.isEmpty()) {
            check();
            wait();
        }
        return queue.remove();
    }

    /** Closes the connection; what has not left is lost. */
    @Override
    public void close() {
        SocketReader.closeQuietly(channel); // first of all: it frees a thread that writes in vain
        if (room != null) {
            room.wakeup();
        }
        synchronized (this) {
            failure = failure == null ? new IOException("connection closed") : failure;
            queue.clear();
            notifyAll();
        }
    }

    /** After {@link #close}: returns when nothing is read from memory any more. */
    void join() throws InterruptedException {
        thread.join();
    }

    private record Item(ByteBuffer bytes, Runnable then) { }
}
