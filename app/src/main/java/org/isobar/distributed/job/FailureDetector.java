package org.isobar.distributed.job;

import java.io.Closeable;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/**
 * Detects that a rank of the job has died or is stopped, or that all ranks wait for each other, and reports the reason
 * to all ranks. Every rank has a connection to rank 0, whose end shows at once that a rank has died, and over which
 * failures are reported; the first failure that is reported becomes the job's failure, and rank 0 forwards it.
 *
 * <p>Parents and children in the {@link JobTree} send each other heartbeats at short intervals, on a thread of their
 * own, so that long computations do not delay them. A rank is judged only by the ranks that exchange heartbeats with
 * it: the silence of a parent says nothing about its children. Ranks that have no connection to their parent yet, or
 * whose parent has left, exchange heartbeats with rank 0. The silence of a peer is limited from its first heartbeat on,
 * because the ranks of a large job do not all start at the same time.
 */
public final class FailureDetector implements Closeable {
    private static final String DEAD = " has died";
    private static final String SILENT = " sends no heartbeat";
    private static final Supplier<String> NOWHERE = () -> "";

    private final int rank;
    private final TimeLimits limits;
    private final List<Heartbeat> peers; // on rank 0 all others, on all others rank 0
    private final List<Heartbeat> children = new CopyOnWriteArrayList<>(); // unless this is rank 0
    private final Findings findings;
    private final StallDetector stalls;
    private final AtomicBoolean decided = new AtomicBoolean();
    private final CompletableFuture<String> failure = new CompletableFuture<>();
    private final Set<CompletableFuture<Void>> listeners = ConcurrentHashMap.newKeySet();
    private final AtomicLong progress = new AtomicLong();
    private volatile Heartbeat parent; // null until there is a connection; never rank 0
    private volatile Supplier<String> waiting = NOWHERE;
    private volatile boolean closed;

    /** Watches the ranks at the other ends of {@code connections}: on rank 0 all others, on all others rank 0. */
    FailureDetector(int rank, Map<Integer, Connection> connections, TimeLimits limits, Transport transport) {
        this.rank = rank;
        this.limits = limits;
        peers = connections.keySet().stream().sorted()
            .map(peer -> new Heartbeat(peer, connections.get(peer), new PeerListener())).toList();
        findings = new Findings(peers, limits.failure());
        stalls = new StallDetector(rank, limits);
        peers.forEach(FailureDetector::listen);
        if (!peers.isEmpty()) {
            transport.start("isobar-watch", this::run);
        }
    }

    private static void listen(Heartbeat peer) {
        Thread.ofVirtual().name("isobar-watch-" + peer.rank()).start(peer::listen);
    }

    /** Exchanges heartbeats with the parent of this rank, which is not rank 0, instead of with rank 0. */
    void follow(int rank, Connection connection) {
        Heartbeat link = new Heartbeat(rank, connection, new LinkListener());
        parent = link;
        link(link);
    }

    /** Exchanges heartbeats with a child of this rank, which is not rank 0. */
    void lead(int rank, Connection connection) {
        Heartbeat link = new Heartbeat(rank, connection, new LinkListener());
        children.add(link);
        link(link);
    }

    private void link(Heartbeat link) {
        listen(link);
        link.beat(new RankStatus(0, ""));
        if (decided.get()) { // it may have been told before the link was known
            failure.thenAccept(link::abort);
        }
        if (closed) {
            link.close();
        }
    }

    /** All peers, with parent and children. */
    private List<Heartbeat> all() {
        List<Heartbeat> all = new ArrayList<>(peers);
        all.addAll(children);
        Optional.ofNullable(parent).ifPresent(all::add);
        return all;
    }

    /** What the ranks have found themselves. */
    Findings findings() {
        return findings;
    }

    /** Whether a reason of a failure is that rank 0 is lost, so that it cannot report the failure itself. */
    public static boolean isLossOfRankZero(String reason) {
        return reason.contains("rank 0" + DEAD) || reason.contains("rank 0" + SILENT);
    }

    /** The reason why the job has failed, if it has. */
    public Optional<String> failure() {
        return Optional.ofNullable(failure.getNow(null));
    }

    /** The {@link #failure}. If there is none yet, waits a short time, because a report may be on its way. */
    public Optional<String> imminentFailure() {
        return failureWithin(limits.propagation());
    }

    /** Waits even if the thread is interrupted, so that closing a communicator does not lose another rank's report. */
    private Optional<String> failureWithin(Duration limit) {
        return Optional.ofNullable(
            failure.copy().completeOnTimeout(null, limit.toNanos(), TimeUnit.NANOSECONDS).join());
    }

    /**
     * Reports to all ranks that the job has failed, unless it has failed already. {@link #failure} becomes visible on
     * this rank only after the others have been told, because the process may end as soon as it sees it.
     */
    public void fail(String reason) {
        if (decided.compareAndSet(false, true)) {
            uninterrupted(() -> all().forEach(peer -> peer.abort(reason)));
            failure.complete(reason);
            listeners.forEach(listener -> listener.complete(null));
        }
    }

    /**
     * Runs {@code writes} on a thread that is never interrupted. An interrupt during a write would close the
     * connection, and the peers would report this rank as dead.
     */
    private static void uninterrupted(Runnable writes) {
        CompletableFuture.runAsync(writes, Thread::startVirtualThread).join();
    }

    /**
     * Runs {@code listener} once when the job fails, or immediately if it has failed. What the listener refers to stays
     * in memory until the result is closed.
     */
    public Registration onFailure(Runnable listener) {
        CompletableFuture<Void> failed = new CompletableFuture<>();
        failed.thenRun(listener);
        listeners.add(failed);
        if (failure.isDone()) {
            failed.complete(null);
        }
        return () -> listeners.remove(failed);
    }

    /** Number of registrations that are not closed. */
    int listeners() {
        return listeners.size();
    }

    /** Ends that a listener is told of a failure. */
    public interface Registration extends AutoCloseable {
        @Override
        void close();
    }

    /** Records that this rank waits for others; {@code place} names rank, group and operation, for heartbeats. */
    public void waiting(Supplier<String> place) {
        waiting = place;
    }

    /** Records that this rank no longer waits. */
    public void resumed() {
        waiting = NOWHERE;
    }

    /** Records that data has arrived from a peer, so that a wait of this rank is not stalled. */
    public void progressed() {
        progress.incrementAndGet();
    }

    private void run() {
        long last = System.nanoTime();
        while (!closed && !failure.isDone()) {
            pause(limits.heartbeatInterval());
            long now = System.nanoTime();
            if (now - last > limits.silenceLimit().toNanos() / 2) { // this process itself was stopped
                all().forEach(Heartbeat::restartTimer);
                stalls.restartTimers(now);
            }
            last = now;
            chooseSuperior();
            RankStatus own = new RankStatus(progress.get(), waiting.get());
            beat(own);
            check(own, now);
        }
    }

    /** Delegates from rank 0 to the parent when the parent answers, and returns to rank 0 when the parent leaves. */
    private void chooseSuperior() {
        Heartbeat up = parent;
        if (up != null) {
            Heartbeat root = peers.getFirst();
            boolean led = up.heard() && !up.left();
            if (led && !root.delegated()) {
                root.delegate();
            } else if (!led && root.delegated()) {
                root.resume();
            }
        }
    }

    private void beat(RankStatus own) {
        RankStatus subtree = own.with(children.stream().map(Heartbeat::status).toList());
        beating().forEach(peer -> peer.beat(subtree));
    }

    /** The peers that this rank exchanges heartbeats with. */
    private List<Heartbeat> beating() {
        return all().stream().filter(peer -> !peer.delegated()).toList();
    }

    private void check(RankStatus own, long now) {
        List<Heartbeat> beating = beating();
        for (Heartbeat peer : beating) {
            if (peer.silentFor(now) > (peer.heard() ? limits.silenceLimit() : limits.firstHeartbeat()).toNanos()) {
                fail("rank " + peer.rank() + SILENT + ": it is stopped or cannot be reached");
            }
        }
        stalls.check(own, rank > 0 ? List.of() : beating.stream().map(Heartbeat::status).toList(), now)
            .ifPresent(this::fail);
    }

    static void pause(Duration time) {
        try {
            Thread.sleep(time);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Says farewell to the peers and stops watching them. Rank 0 first waits, within the limit for failures, until the
     * other ranks have left, because it forwards their failures to each other.
     */
    @Override
    public void close() {
        uninterrupted(this::leave);
    }

    private void leave() {
        long deadline = System.nanoTime() + limits.failure().toNanos();
        if (decided.get()) {
            failureWithin(limits.failure()); // until the peers have been told
        }
        all().forEach(Heartbeat::farewell);
        while (peers.size() > 1 && !failure.isDone() && System.nanoTime() < deadline
            && peers.stream().anyMatch(peer -> !peer.left())) {
            pause(Duration.ofMillis(5));
        }
        closed = true;
        all().forEach(Heartbeat::close);
    }

    /** Turns what the peers report, and the loss of a peer, into the job's failure. */
    private final class PeerListener implements Heartbeat.Listener {
        @Override
        public void failed(String reason) {
            fail(reason);
        }

        @Override
        public void found(int rank, String finding) {
            findings.add(rank, finding);
        }

        @Override
        public void confirmed() {
            findings.confirm();
        }

        @Override
        public void lost(int rank, IOException cause) {
            if (!closed) {
                String lost = DEAD.strip() + ": it ended its connection (" + cause.getMessage() + ")";
                findings.add(rank, lost);
                fail("rank " + rank + " " + lost);
            }
        }
    }

    /** As {@link PeerListener}, but rank 0 alone reports lost ranks; without a link, this rank returns to rank 0. */
    private final class LinkListener implements Heartbeat.Listener {
        @Override
        public void failed(String reason) {
            fail(reason);
        }

        @Override
        public void found(int rank, String finding) { }

        @Override
        public void confirmed() { }

        @Override
        public void lost(int rank, IOException cause) { }
    }
}
