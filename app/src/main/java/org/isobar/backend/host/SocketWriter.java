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

import org.isobar.os.QuietClose;

/**
 * Writes memory to the socket of one peer asynchronously and in order, without copying it, so that the caller can
 * receive at the same time. A thread of the writer does this. If the channel is non-blocking, small data is first
 * written by the caller, as far as the socket buffer has room, because waking a thread takes longer than the write.
 */
final class SocketWriter implements GroupLinks.Writer, Closeable {
    /** Largest size of one buffer in bytes. */
    private static final long MAX_BUFFER = 1 << 30;
    /** Largest size in bytes that the caller writes itself. */
    private static final int DIRECT_BYTES = 1 << 18;

    private final SocketChannel channel;
    private final int peer;
    private final Consumer<IOException> onBroken;
    private final Selector writable; // wakes when the socket has room; null for a blocking channel
    private final Thread thread;
    private final Queue<Item> queue = new ArrayDeque<>();
    private long queued; // number of items
    private long sent;
    private IOException failure;

    /** Writes to rank {@code peer}. Takes over the channel. {@code onBroken} receives a failure to write. */
    SocketWriter(SocketChannel channel, int peer, String name, Consumer<IOException> onBroken) throws IOException {
        this.channel = channel;
        this.peer = peer;
        this.onBroken = onBroken;
        writable = channel.isBlocking() ? null : SocketReader.selector(channel, SelectionKey.OP_WRITE);
        thread = Thread.ofPlatform().daemon().name(name).start(this::serve);
    }

    @Override
    public long send(MemorySegment bytes) throws IOException {
        return send(bytes, null);
    }

    /** Like {@link #send(MemorySegment)}, and runs {@code then} when all bytes are sent. */
    long send(MemorySegment bytes, Runnable then) throws IOException {
        long start = 0;
        for (; bytes.byteSize() - start > MAX_BUFFER; start += MAX_BUFFER) {
            send(bytes.asSlice(start, MAX_BUFFER).asByteBuffer(), null);
        }
        return send(bytes.asSlice(start).asByteBuffer(), then);
    }

    @Override
    public synchronized long send(ByteBuffer bytes, Runnable then) throws IOException {
        check();
        if (then == null && bytes.remaining() <= DIRECT_BYTES && sent == queued && !channel.isBlocking()) {
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

    @Override
    public synchronized void awaitSent(long number) throws IOException, InterruptedException {
        while (sent < number) {
            check();
            wait();
        }
    }

    @Override
    public synchronized void flush() throws IOException, InterruptedException {
        awaitSent(queued);
    }

    /** Whether all queued data is written. */
    synchronized boolean idle() {
        return sent == queued;
    }

    private void check() throws IOException {
        if (failure != null) {
            throw new IOException(failure.getMessage(), failure);
        }
    }

    private void serve() {
        try (writable) {
            while (true) {
                Item item = next();
                write(item.bytes());
                while (item.bytes().hasRemaining()) {
                    if (writable != null) {
                        writable.select(ready -> { });
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
            onBroken.accept(thrown);
        } catch (InterruptedException impossible) {
            throw new AssertionError("no code interrupts this thread", impossible);
        }
    }

    /** Writes the buffer; on a non-blocking channel, as much of it as the socket buffer has room for. */
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

    /** Closes the connection. Unsent data is lost. */
    @Override
    public void close() {
        QuietClose.close(channel); // first, because it wakes a thread that is blocked in a write
        if (writable != null) {
            writable.wakeup();
        }
        synchronized (this) {
            failure = failure == null ? new IOException("connection closed") : failure;
            queue.clear();
            notifyAll();
        }
    }

    /** After {@link #close}, waits until the thread reads no more memory. */
    void join() throws InterruptedException {
        thread.join();
    }

    private record Item(ByteBuffer bytes, Runnable then) { }
}
