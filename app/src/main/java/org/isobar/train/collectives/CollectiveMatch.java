package org.isobar.train.collectives;

import java.util.Collections;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Checks that the collectives of all ranks of a job match: groups partition the ranks, their members open them and
 * issue equal calls in the same order, sends meet receives, and no ranks wait for each other in a circle.
 */
public final class CollectiveMatch {
    private CollectiveMatch() { }

    /** Describes the first mismatch with rank, group and number of the operation; empty if all match. */
    public static Optional<String> check(List<RankTrace> ranks) {
        return GroupPartition.check(ranks).or(() -> unopened(ranks)).or(() -> IssueOrder.check(ranks));
    }

    /** A rank opens a group once, before it issues to it. */
    private static Optional<String> unopened(List<RankTrace> ranks) {
        // a role's ranks share their events
        Set<List<CollectiveEvent>> checked = Collections.newSetFromMap(new IdentityHashMap<>());
        for (int rank = 0; rank < ranks.size(); rank++) {
            List<CollectiveEvent> events = ranks.get(rank).events();
            if (checked.add(events)) {
                Set<String> open = new HashSet<>();
                for (CollectiveEvent event : events) {
                    if (!ranks.get(rank).groups().containsKey(event.group())
                        || open.add(event.group()) != event.opens()) {
                        return Optional.of("rank " + rank + ", group " + event.group() + ", " + event
                            + ": the group is not open, or opened twice");
                    }
                }
            }
        }
        return Optional.empty();
    }
}
