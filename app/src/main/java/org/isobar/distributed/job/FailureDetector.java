package org.isobar.distributed.job;

import java.io.Closeable;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/**
 * Detects that a rank of the job has died or is stopped, or that all ranks wait for each other, and reports the reason
 * to all ranks. Every rank has a connection to rank 0. Both ends send heartbeats over it at short intervals, on a
 * thread of their own, so that long computations do not delay them. The silence of a peer is limited from its first
 * heartbeat on, because the ranks of a large job do not all start at the same time. The first failure that is reported
 * becomes the job's failure; rank 0 forwards it to the other ranks.
 */
public final class FailureDetector implements Closeable {
    private static final Supplier<String> NOWHERE = () -> "";

    private final TimeLimits limits;
    private final List<Heartbeat> peers;
    private final StallDetector stalls;
    private final AtomicBoolean decided = new AtomicBoolean();
    private final CompletableFuture<String> failure = new CompletableFuture<>();
    private final AtomicLong progress = new AtomicLong();
    private volatile Supplier<String> waiting = NOWHERE;
    private volatile boolean closed;

    /** Watches the ranks at the other ends of {@code connections}: on rank 0 all others, on all others rank 0. */
    FailureDetector(int rank, Map<Integer, Connection> connections, TimeLimits limits) {
        this.limits = limits;
        peers = connections.keySet().stream().sorted()
            .map(peer -> new Heartbeat(peer, connections.get(peer), new PeerListener())).toList();
        stalls = new StallDetector(rank, limits);
        peers.forEach(peer -> Thread.ofVirtual().name("isobar-watch-" + peer.rank()).start(peer::listen));
        if (!peers.isEmpty()) {
            Thread.ofPlatform().daemon().name("isobar-watch").start(this::run);
        }
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
            uninterrupted(() -> peers.forEach(peer -> peer.abort(reason)));
            failure.complete(reason);
        }
    }

    /**
     * Runs {@code writes} on a thread that is never interrupted. An interrupt during a write would close the
     * connection, and the peers would report this rank as dead.
     */
    private static void uninterrupted(Runnable writes) {
        CompletableFuture.runAsync(writes, Thread::startVirtualThread).join();
    }

    /** Runs {@code listener} once when the job fails, or immediately if it has failed. */
    public void onFailure(Runnable listener) {
        failure.thenRun(listener);
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
                peers.forEach(Heartbeat::restartTimer);
                stalls.restartTimers(now);
            }
            last = now;
            RankStatus own = new RankStatus(progress.get(), waiting.get());
            peers.forEach(peer -> peer.beat(own));
            check(own, now);
        }
    }

    private void check(RankStatus own, long now) {
        for (Heartbeat peer : peers) {
            if (peer.silentFor(now) > (peer.heard() ? limits.silenceLimit() : limits.firstHeartbeat()).toNanos()) {
                fail("rank " + peer.rank() + " sends no heartbeat: it is stopped or cannot be reached");
            }
        }
        stalls.check(own, peers.stream().map(Heartbeat::status).toList(), now).ifPresent(this::fail);
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
        peers.forEach(Heartbeat::farewell);
        while (peers.size() > 1 && !failure.isDone() && System.nanoTime() < deadline
            && peers.stream().anyMatch(peer -> !peer.left())) {
            pause(Duration.ofMillis(5));
        }
        closed = true;
        peers.forEach(Heartbeat::close);
    }

    /** Turns what the peers report, and the loss of a peer, into the job's failure. */
    private final class PeerListener implements Heartbeat.Listener {
        @Override
        public void failed(String reason) {
            fail(reason);
        }

        @Override
        public void lost(int rank, IOException cause) {
            if (!closed) {
                fail("rank " + rank + " has died: it ended its connection (" + cause.getMessage() + ")");
            }
        }
    }
}
