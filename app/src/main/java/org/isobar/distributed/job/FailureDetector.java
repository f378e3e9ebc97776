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

/**
 * Notices that a rank of the job has died or is stopped, or that all wait for each other, and tells all ranks why the
 * job cannot go on. Every rank keeps a connection to rank 0 over which both send a sign of life at short intervals from
 * a thread of its own, however long they compute. The first failure is the job's verdict; rank 0 passes it on.
 */
public final class FailureDetector implements Closeable {
    private final TimeLimits limits;
    private final List<Heartbeat> peers;
    private final StallDetector stalls;
    private final AtomicBoolean decided = new AtomicBoolean();
    private final CompletableFuture<String> failure = new CompletableFuture<>();
    private final AtomicLong progress = new AtomicLong();
    private volatile String waiting = "";
    private volatile boolean closed;

    /** Watches the ranks at the other ends of {@code connections}: all others for rank 0, rank 0 for all others. */
    FailureDetector(int rank, Map<Integer, Connection> connections, TimeLimits limits) {
        this.limits = limits;
        peers = connections.keySet().stream().sorted()
            .map(peer -> new Heartbeat(peer, connections.get(peer), new PeerListener())).toList();
        stalls = new StallDetector(rank, limits);
        peers.forEach(peer -> Thread.ofVirtual().name("isobar-watch-" + peer.rank()).start(peer::listen));
        if (!peers.isEmpty()) {
            Thread.ofPlatform().daemon().name("isobar-watch").start(this::tick);
        }
    }

    /** Why the job cannot go on, if it cannot. */
    public Optional<String> failure() {
        return Optional.ofNullable(failure.getNow(null));
    }

    /** {@link #failure}, which may be about to arrive: waits for it a moment. */
    public Optional<String> imminentFailure() {
        return failureWithin(limits.telling());
    }

    /** Waits even if interrupted: who closes a communicator must not make another rank's verdict unheard. */
    private Optional<String> failureWithin(Duration limit) {
        return Optional.ofNullable(
            failure.copy().completeOnTimeout(null, limit.toNanos(), TimeUnit.NANOSECONDS).join());
    }

    /**
     * Tells all ranks that the job cannot go on, unless it is known already. Nobody here sees the failure before the
     * others have been told: he may end the process.
     */
    public void fail(String reason) {
        if (decided.compareAndSet(false, true)) {
            undisturbed(() -> peers.forEach(peer -> peer.abort(reason)));
            failure.complete(reason);
        }
    }

    /**
     * Runs what writes to peers on a thread that nobody interrupts: an interrupt would close the connection, and this
     * rank be thought dead.
     */
    private static void undisturbed(Runnable words) {
        CompletableFuture.runAsync(words, Thread::startVirtualThread).join();
    }

    /** Runs {@code listener} once when the job fails; at once if it has failed. */
    public void onFailure(Runnable listener) {
        failure.thenRun(listener);
    }

    /** From now on this rank waits for others; {@code place} names rank, group and operation. */
    public void waiting(String place) {
        waiting = place;
    }

    /** This rank waits no longer. */
    public void resumed() {
        waiting = "";
    }

    /** Something has come in from a peer: this rank does not wait in vain. */
    public void progressed() {
        progress.incrementAndGet();
    }

    private void tick() {
        long last = System.nanoTime();
        while (!closed && !failure.isDone()) {
            pause(limits.beat());
            long now = System.nanoTime();
            if (now - last > limits.silence().toNanos() / 2) {
                peers.forEach(Heartbeat::forgive); // it was this process that was stopped
                stalls.forgive(now);
            }
            last = now;
            RankStatus own = new RankStatus(progress.get(), waiting);
            peers.forEach(peer -> peer.beat(own));
            judge(own, now);
        }
    }

    private void judge(RankStatus own, long now) {
        for (Heartbeat peer : peers) {
            if (peer.silentFor(now) > limits.silence().toNanos()) {
                fail("rank " + peer.rank() + " gives no sign of life: it is stopped, or cannot be reached");
            }
        }
        stalls.judge(own, peers.stream().map(Heartbeat::status).toList(), now).ifPresent(this::fail);
    }

    static void pause(Duration time) {
        try {
            Thread.sleep(time);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * Takes leave. Rank 0 stays, for as long as a failure may take to show, until the others have left: they need it to
     * hear of each other.
     */
    @Override
    public void close() {
        undisturbed(this::leave);
    }

    private void leave() {
        long deadline = System.nanoTime() + limits.failure().toNanos();
        if (decided.get()) {
            failureWithin(limits.failure()); // which is being told
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
