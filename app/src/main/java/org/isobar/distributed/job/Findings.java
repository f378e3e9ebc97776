package org.isobar.distributed.job;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;

/**
 * What the ranks of a failed job have found themselves, such as a full disk. Each rank hands its finding to rank 0,
 * over the connection of the {@link FailureDetector}, so that the log has findings of many ranks once. A rank whose
 * finding rank 0 has not confirmed within the time limit logs it itself, so none is lost.
 */
final class Findings {
    private static final Duration POLL = Duration.ofMillis(5);

    private final List<Heartbeat> peers; // on rank 0 all others, on all others rank 0
    private final Duration limit;
    /** Not a sorted map: TreeMap copies as many entries of one as its size says, which lags behind what it contains. */
    private final Map<Integer, String> found = new ConcurrentHashMap<>();
    private volatile boolean confirmed;

    /** The findings of a job; {@code limit} is that for failures. */
    Findings(List<Heartbeat> peers, Duration limit) {
        this.peers = peers;
        this.limit = limit;
    }

    /** Records on rank 0 what a rank has found, or that it is lost. The first record of a rank counts. */
    void add(int rank, String finding) {
        found.putIfAbsent(rank, finding);
    }

    /** Records that rank 0 has logged the finding of this rank. */
    void confirm() {
        confirmed = true;
    }

    /**
     * Hands the finding of this rank to rank 0, and waits until rank 0 has logged it, leaves or is lost, at most for
     * the limit.
     *
     * @return whether rank 0 has logged it; otherwise this rank must
     */
    boolean entrust(String finding) {
        Heartbeat root = peers.getFirst();
        if (!root.fits(finding)) {
            return false;
        }
        root.find(finding);
        await(() -> confirmed || root.left(), limit);
        return confirmed;
    }

    /**
     * Waits on rank 0 until each other rank has handed over its finding, has left or is lost, at most for half of the
     * limit.
     *
     * @return the findings by rank, with those of ranks that are lost or have not answered
     */
    SortedMap<Integer, String> gather() {
        Duration patience = limit.dividedBy(2);
        await(() -> peers.stream().allMatch(this::answered), patience);
        SortedMap<Integer, String> all = new TreeMap<>(found);
        peers.stream().filter(peer -> !answered(peer))
            .forEach(peer -> all.put(peer.rank(), "no report within " + patience.toMillis()
                + " ms; it logs itself what it finds later"));
        return all;
    }

    private boolean answered(Heartbeat peer) {
        return peer.left() || found.containsKey(peer.rank());
    }

    /**
     * Tells the ranks whose findings have been gathered that they are logged. Waits until these ranks have left, at
     * most for half of the limit: closing a connection with unread heartbeats resets it, and the rank at its other end
     * may then not read the confirmation.
     */
    void confirm(SortedMap<Integer, String> logged) {
        List<Heartbeat> told = peers.stream()
            .filter(peer -> logged.containsKey(peer.rank()) && found.containsKey(peer.rank())).toList();
        told.forEach(Heartbeat::confirm);
        await(() -> told.stream().allMatch(Heartbeat::left), limit.dividedBy(2));
    }

    /** Waits even if the thread is interrupted. */
    private static void await(BooleanSupplier condition, Duration limit) {
        long deadline = System.nanoTime() + limit.toNanos();
        boolean interrupted = false;
        while (!condition.getAsBoolean() && System.nanoTime() < deadline) {
            try {
                Thread.sleep(POLL);
            } catch (InterruptedException again) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
