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
import org.isobar.distributed.job.Job;

/**
 * Tells ranks that they have issued different operations, where tensors travel by a way that compares nothing: each
 * rank tells the next of the ring, and the receiver what it sends, and compares what it hears with what it has issued
 * itself. None of it keeps the caller, or the tensors.
 *
 * <p>A rank listens only for what it has issued: one that has left is missed when its next operation does not come.
 */
public final class CollectiveMismatchDetector implements Closeable {
    private static final long PAUSE_NANOS = 1_000_000;

    private final ProcessGroup group;
    private final GroupConnections links;
    private final BlockingQueue<CollectiveCall> issued = new LinkedBlockingQueue<>();
    private final Map<Integer, Exchange> exchanges = new ConcurrentHashMap<>();
    private final List<Thread> listeners = new ArrayList<>();
    private final AtomicInteger open = new AtomicInteger();
    private volatile BiConsumer<CollectiveCall, Exception> failed = (operation, thrown) -> { };
    private volatile boolean lost;
    private volatile boolean closed;

    /**
     * Connects this rank with its neighbours, which do the same. The connections end with the job.
     *
     * @throws CommunicationException if a neighbour cannot be reached; the job has failed then
     */
    public CollectiveMismatchDetector(Job job, ProcessGroup group) {
        this.group = group;
        links = new GroupConnections(job, group, thrown -> fail(null, thrown));
        job.watch().onFailure(this::close);
    }

    /** The few bytes that each rank brings, as many at all of them, in the group's order. Before {@link #begin}. */
    public List<ByteBuffer> exchange(ByteBuffer own) throws IOException {
        ByteBuffer[] all = new ByteBuffer[group.size()];
        all[group.index()] = own;
        for (int step = 1; step < group.size(); step++) {
            links.next().send(all[Math.floorMod(group.index() + 1 - step, all.length)].duplicate(), null);
            ByteBuffer theirs = ByteBuffer.allocate(own.remaining());
            links.previous().read(theirs);
            all[Math.floorMod(group.index() - step, all.length)] = theirs.flip();
        }
        return List.of(all);
    }

    /**
     * Begins to compare.
     *
     * @param onFailure hears, on another thread, of what differs or cannot be told, and at which operation of this
     *                  rank if that is known, else null; more than once, it may be
     */
    public void begin(BiConsumer<CollectiveCall, Exception> onFailure) {
        failed = onFailure;
        listen("ring", () -> compare(links.previous(), group.index() - 1, issued));
    }

    /** This rank has issued {@code operation}. */
    public void announce(CollectiveCall operation) {
        open.incrementAndGet();
        if (operation.kind() == Kind.SEND || operation.kind() == Kind.RECEIVE) {
            exchanges.computeIfAbsent(operation.root(), Exchange::new).announce(operation);
            return;
        }
        issued.add(operation);
        tell(links.next(), operation);
    }

    private void tell(SocketWriter peer, CollectiveCall operation) {
        try {
            peer.send(operation.header(), null);
        } catch (IOException broken) {
            fail(operation, broken);
        }
    }

    private void compare(SocketReader in, int peer, BlockingQueue<CollectiveCall> own) {
        CollectiveCall operation = null;
        try {
            while (true) {
                operation = own.take();
                ByteBuffer header = ByteBuffer.allocate(CollectiveCall.HEADER);
                in.read(header);
                String difference = operation.difference(header.flip());
                if (difference != null) {
                    throw new CommunicationException("rank " + group.rankAt(peer) + " " + difference);
                }
                open.decrementAndGet();
            }
        } catch (IOException | CommunicationException lost) {
            fail(operation, lost);
        } catch (InterruptedException end) { // by close
            return;
        }
    }

    private void fail(CollectiveCall operation, Exception thrown) {
        if (!closed) {
            lost = true;
            failed.accept(operation, thrown);
        }
    }

    private void listen(String whom, Runnable listener) {
        synchronized (listeners) {
            if (!closed) {
                listeners.add(Thread.ofVirtual().name("isobar-" + group.name() + "-" + group.rank() + "-" + whom)
                    .start(listener));
            }
        }
    }

    /** Returns when all that this rank has issued is told and compared, or cannot be, or after {@code limit}. */
    public void drain(Duration limit) {
        long deadline = System.nanoTime() + limit.toNanos();
        while (!closed && !lost && !(open.get() == 0 && links.idle()) && System.nanoTime() < deadline) {
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    /** Ends the connections. */
    @Override
    public void close() {
        closed = true;
        links.close();
        synchronized (listeners) {
            listeners.forEach(Thread::interrupt);
        }
    }

    /** What goes on with one peer alone. Its connection is opened while the caller goes on. */
    private final class Exchange {
        private final BlockingQueue<CollectiveCall> receives = new LinkedBlockingQueue<>();
        private final CompletableFuture<Pair> opened = new CompletableFuture<>();
        private CompletableFuture<Void> told = opened.thenAccept(pair -> { });

        Exchange(int peer) {
            listen("pair", () -> {
                try {
                    Pair pair = links.pair(peer);
                    opened.complete(pair);
                    compare(pair.in(), peer, receives);
                } catch (IOException | CommunicationException unreachable) {
                    fail(receives.peek(), unreachable);
                }
            });
        }

        void announce(CollectiveCall operation) {
            if (operation.kind() == Kind.RECEIVE) {
                receives.add(operation);
            } else {
                told = told.thenAccept(any -> { // one after the other
                    tell(opened.join().out(), operation);
                    open.decrementAndGet();
                });
            }
        }
    }
}
