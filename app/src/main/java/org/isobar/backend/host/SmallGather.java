package org.isobar.backend.host;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;

import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.job.FailureDetector;
import org.isobar.distributed.job.Job;
import org.isobar.os.QuietClose;

/**
 * An all-gather of a few bytes in {@link #rounds} rounds, not in the {@code n - 1} hops of a ring. In round k, a rank
 * sends all that it has to the rank {@code 2^k} before it, and receives as much from the rank {@code 2^k} after it
 * (Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing systems", 1997). Each
 * round has connections of its own, which end with the round or the job.
 */
final class SmallGather implements Closeable {
    private final Job job;
    private final ProcessGroup group;
    private final Queue<SocketChannel> channels = new ConcurrentLinkedQueue<>();

    private SmallGather(Job job, ProcessGroup group) {
        this.job = job;
        this.group = group;
    }

    /**
     * Gathers the bytes of all ranks. All ranks of the group call this at the same time.
     *
     * @param own the bytes of this rank, the same number on all ranks
     * @return the bytes of all ranks, in group order
     * @throws IOException if a rank cannot be reached or the job fails
     */
    static List<ByteBuffer> gather(Job job, ProcessGroup group, ByteBuffer own) throws IOException {
        try (SmallGather gather = new SmallGather(job, group);
            FailureDetector.Registration _ = job.watch().onFailure(gather::close)) { // wakes a read
            return gather.run(own);
        } catch (CommunicationException lost) {
            throw new IOException(lost.getMessage(), lost);
        }
    }

    /** Number of messages that a rank of a group of {@code size} sends and receives: log2 of the size, rounded up. */
    static int rounds(int size) {
        return Integer.SIZE - Integer.numberOfLeadingZeros(size - 1);
    }

    private List<ByteBuffer> run(ByteBuffer own) throws IOException {
        int bytes = own.remaining();
        ByteBuffer all = ByteBuffer.allocate(Math.multiplyExact(bytes, group.size()));
        all.put(own.duplicate()); // from here on: the bytes of this rank, the next, ...
        for (int round = 0; round < rounds(group.size()); round++) {
            int distance = 1 << round;
            int count = Math.min(distance, group.size() - distance) * bytes;
            exchange(round, distance, all.slice(0, count), all.slice(distance * bytes, count));
        }
        List<ByteBuffer> ordered = new ArrayList<>();
        for (int index = 0; index < group.size(); index++) {
            ordered.add(all.slice(Math.floorMod(index - group.index(), group.size()) * bytes, bytes));
        }
        return ordered;
    }

    /** Sends on a thread of its own, because all ranks send first and the data may exceed the sockets' buffers. */
    private void exchange(int round, int distance, ByteBuffer sent, ByteBuffer received) throws IOException {
        String purpose = "gather " + round + " of " + group.id();
        int after = group.rankAt(group.index() + distance);
        CompletableFuture<Void> sending = CompletableFuture.runAsync(() -> send(distance, purpose, sent),
            Thread::startVirtualThread);
        try (SocketChannel from = job.accept(after, purpose)) {
            closeOnFailure(from);
            new SocketReader(from, after, job.watch()::progressed).read(received);
        }
        try {
            sending.join();
        } catch (CompletionException failed) {
            throw new IOException(failed.getCause().getMessage(), failed);
        }
    }

    private void send(int distance, String purpose, ByteBuffer bytes) {
        int before = group.rankAt(group.index() - distance);
        try (SocketChannel to = job.connect(before, purpose)) {
            closeOnFailure(to);
            while (bytes.hasRemaining()) {
                to.write(bytes);
            }
        } catch (IOException lost) {
            throw new CommunicationException("cannot send to rank " + before + " (" + lost.getMessage() + ")", lost);
        }
    }

    /** Lets a failure of the job end a connection. */
    private void closeOnFailure(SocketChannel channel) throws IOException {
        channels.add(channel);
        Optional<String> failure = job.watch().failure();
        if (failure.isPresent()) { // connections may have been closed before this one was listed
            throw new IOException(failure.get());
        }
    }

    /** Ends all connections. */
    @Override
    public void close() {
        channels.forEach(QuietClose::close);
    }
}
