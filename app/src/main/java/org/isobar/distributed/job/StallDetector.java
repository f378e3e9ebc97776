package org.isobar.distributed.job;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Finds out that ranks which all live will never go on: rank 0, that every rank waits and nothing has come in anywhere
 * for as long as a dead rank may go unnoticed; any rank, that it has waited for longer than its peers may compute.
 */
final class StallDetector {
    private static final int MOST = 16;

    private final int rank;
    private final TimeLimits limits;
    private List<RankStatus> before = List.of();
    private long since;
    private RankStatus ownBefore = new RankStatus(-1, "");
    private long ownSince;

    StallDetector(int rank, TimeLimits limits) {
        this.rank = rank;
        this.limits = limits;
    }

    /** Counts anew: this process has been stopped, and what was sent meanwhile has yet to come in. */
    void forgive(long now) {
        ownSince = now;
        since = now;
    }

    /** The verdict, if there is one, on the present state of this rank and of those that it watches, in order. */
    Optional<String> judge(RankStatus own, List<RankStatus> others, long now) {
        if (!own.equals(ownBefore) || own.waiting().isEmpty()) {
            ownBefore = own;
            ownSince = now;
        }
        if (now - ownSince > limits.stall().toNanos()) {
            return Optional.of(own.waiting() + " has waited for " + limits.stall().toSeconds() + " s");
        }
        return rank == 0 ? judgeAll(own, others, now) : Optional.empty();
    }

    private Optional<String> judgeAll(RankStatus own, List<RankStatus> others, long now) {
        List<RankStatus> all = new ArrayList<>(List.of(own));
        all.addAll(others);
        if (!all.equals(before) || all.stream().anyMatch(status -> status.waiting().isEmpty())) {
            before = all;
            since = now;
        }
        if (now - since <= limits.silence().toNanos()) {
            return Optional.empty();
        }
        return Optional.of("all ranks wait for each other: "
            + all.stream().limit(MOST).map(RankStatus::waiting).collect(Collectors.joining("; ")));
    }
}
