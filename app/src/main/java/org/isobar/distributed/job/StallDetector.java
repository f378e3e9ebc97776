package org.isobar.distributed.job;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Detects that ranks which are all alive make no progress. Rank 0 detects that every rank has waited, and none has
 * received data, for {@link TimeLimits#silenceLimit}. Any rank detects that it has itself waited for longer than
 * {@link TimeLimits#stall}.
 */
final class StallDetector {
    private static final int MAX_LISTED = 16;

    private final int rank;
    private final TimeLimits limits;
    private List<RankStatus> lastStatuses = List.of();
    private long allSince;
    private RankStatus lastOwn = new RankStatus(-1, "");
    private long ownSince;

    StallDetector(int rank, TimeLimits limits) {
        this.rank = rank;
        this.limits = limits;
    }

    /** Restarts all times, after this process was stopped: data that was sent meanwhile has yet to arrive. */
    void restartTimers(long now) {
        ownSince = now;
        allSince = now;
    }

    /** The failure, if there is one, in the present status of this rank and of the {@code others}, in rank order. */
    Optional<String> check(RankStatus own, List<RankStatus> others, long now) {
        if (!own.equals(lastOwn) || own.waiting().isEmpty()) {
            lastOwn = own;
            ownSince = now;
        }
        if (now - ownSince > limits.stall().toNanos()) {
            return Optional.of(own.waiting() + " has waited for " + limits.stall().toSeconds() + " s");
        }
        return rank == 0 ? checkAll(own, others, now) : Optional.empty();
    }

    private Optional<String> checkAll(RankStatus own, List<RankStatus> others, long now) {
        List<RankStatus> all = new ArrayList<>(List.of(own));
        all.addAll(others);
        if (!all.equals(lastStatuses) || all.stream().anyMatch(status -> status.waiting().isEmpty())) {
            lastStatuses = all;
            allSince = now;
        }
        if (now - allSince <= limits.silenceLimit().toNanos()) {
            return Optional.empty();
        }
        return Optional.of("all ranks wait for each other: "
            + all.stream().limit(MAX_LISTED).map(RankStatus::waiting).collect(Collectors.joining("; ")));
    }
}
