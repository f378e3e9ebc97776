package org.isobar.backend.host;

import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiConsumer;

import org.isobar.backend.host.GroupConnections.Pair;
import org.isobar.distributed.CollectiveCall;
import org.isobar.distributed.CollectiveCall.Kind;
import org.isobar.distributed.CommunicationException;
import org.isobar.distributed.ProcessGroup;
import org.isobar.distributed.job.FailureDetector;
import org.isobar.distributed.job.Job;

/**
 * Detects that ranks of a group have issued different operations, for transports that do not compare them (NCCL). Over
 * sockets, each rank sends the header of each collective to the next rank of a ring, and the header of each send to the
 * receiver. It compares the headers that it receives with its own calls. This runs asynchronously: it delays neither
 * the caller nor the tensors.
 *
 * <p>A rank reads a header only for calls that it has issued itself. So a peer that has left the group is detected at
 * the next operation that this rank issues.
 */
public final class CollectiveMismatchDetector implements Closeable {
    private static final long POLL_NANOS = 1_000_000;

    private final Job job;
    private final ProcessGroup group;
    private final GroupConnections connections;
    private final BlockingQueue<CollectiveCall> issued = new LinkedBlockingQueue<>();
    private final Map<Integer, PeerChannel> peerChannels = new ConcurrentHashMap<>();
    private final List<Thread> listeners = new ArrayList<>();
    private final FailureDetector.Registration registration;
    private final AtomicInteger unconfirmed = new AtomicInteger();
    private volatile BiConsumer<CollectiveCall, Exception> onFailure = (call, thrown) -> { };
    private volatile boolean broken;
    private volatile boolean closed;

    /**
     * Connects this rank with its neighbours in the ring. All ranks of the group call this at the same time. The
     * connections end with the job.
     *
     * @throws CommunicationException if a neighbour cannot be reached; the job has failed then
     */
    public CollectiveMismatchDetector(Job job, ProcessGroup group) {
        this.job = job;
        this.group = group;
        connections = new GroupConnections(job, group, false, thrown -> fail(null, thrown));
        registration = job.watch().onFailure(this::end);
    }

    /**
     * All-gathers a few bytes. All ranks of the group call this at the same time.
     *
     * @param own the bytes of this rank, the same number on all ranks
     * @return the bytes of all ranks, in group order
     */
    public List<ByteBuffer> exchange(ByteBuffer own) throws IOException {
        return SmallGather.gather(job, group, own);
    }

    /**
     * Starts comparing calls.
     *
     * @param onFailure receives, on another thread, each mismatch or broken connection, with the call of this rank at
     *                  which it occurred, or null if that is unknown; may be called several times
     */
    public void begin(BiConsumer<CollectiveCall, Exception> onFailure) {
        this.onFailure = onFailure;
        listen("ring", () -> compare(connections.previous(), group.index() - 1, issued));
    }

    /** Announces to the peers concerned that this rank has issued {@code call}. */
    public void announce(CollectiveCall call) {
        unconfirmed.incrementAndGet();
        if (call.kind() == Kind.SEND || call.kind() == Kind.RECEIVE) {
            peerChannels.computeIfAbsent(call.root(), PeerChannel::new).announce(call);
            return;
        }
        issued.add(call);
        send(connections.next(), call);
    }

    private void send(SocketWriter peer, CollectiveCall call) {
        try {
            peer.send(call.header(), null);
        } catch (IOException lost) {
            fail(call, lost);
        }
    }

    private void compare(SocketReader in, int peer, BlockingQueue<CollectiveCall> own) {
        CollectiveCall call = null;
        try {
            while (true) {
                call = own.take();
                ByteBuffer header = ByteBuffer.allocate(CollectiveCall.HEADER);
                in.read(header);
                String difference = call.difference(header.flip());
                if (difference != null) {
                    throw new CommunicationException("rank " + group.rankAt(peer) + " " + difference);
                }
                unconfirmed.decrementAndGet();
            }
        } catch (IOException | CommunicationException lost) {
            fail(call, lost);
        } catch (InterruptedException end) { // by close
            return;
        }
    }

    private void fail(CollectiveCall call, Exception thrown) {
        if (!closed) {
            broken = true;
            onFailure.accept(call, thrown);
        }
    }

    private void listen(String name, Runnable listener) {
        synchronized (listeners) {
            if (!closed) {
                listeners.add(Thread.ofVirtual().name("isobar-" + group.name() + "-" + group.rank() + "-" + name)
                    .start(listener));
            }
        }
    }

    /** Waits until all calls of this rank are compared, a connection is broken, or {@code limit} has passed. */
    public void drain(Duration limit) {
        long deadline = System.nanoTime() + limit.toNanos();
        while (!closed && !broken && !(unconfirmed.get() == 0 && connections.idle()) && System.nanoTime() < deadline) {
            LockSupport.parkNanos(POLL_NANOS);
        }
    }

    /** Closes the connections and ends the threads. */
    @Override
    public void close() {
        end();
        registration.close();
    }

    private void end() {
        closed = true;
        connections.close();
        synchronized (listeners) {
            listeners.forEach(Thread::interrupt);
        }
    }

    /** Compares sends and receives with one peer. Its connection is opened asynchronously. */
    private final class PeerChannel {
        private final BlockingQueue<CollectiveCall> receives = new LinkedBlockingQueue<>();
        private final CompletableFuture<Pair> opened = new CompletableFuture<>();
        private CompletableFuture<Void> lastSent = opened.thenAccept(pair -> { });

        PeerChannel(int peer) {
            listen("pair", () -> {
                try {
                    Pair pair = connections.pair(peer);
                    opened.complete(pair);
                    compare(pair.in(), peer, receives);
                } catch (IOException | CommunicationException unreachable) {
                    fail(receives.peek(), unreachable);
                }
            });
        }

        void announce(CollectiveCall call) {
            if (call.kind() == Kind.RECEIVE) {
                receives.add(call);
            } else {
                lastSent = lastSent.thenAccept(any -> { // in order
                    send(opened.join().out(), call);
                    unconfirmed.decrementAndGet();
                });
            }
        }
    }
}
