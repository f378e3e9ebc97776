package org.isobar.train.collectives;

import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/** Checks that the groups of each name partition the ranks: the members of a group agree on its members. */
final class GroupPartition {
    private GroupPartition() { }

    /** Describes the first rank whose groups do not fit those of the others. */
    static Optional<String> check(List<RankTrace> ranks) {
        Set<String> names = new TreeSet<>();
        ranks.forEach(trace -> names.addAll(trace.groups().keySet()));
        return names.stream().flatMap(name -> check(name, ranks).stream()).findFirst();
    }

    private static Optional<String> check(String name, List<RankTrace> ranks) {
        List<?>[] of = new List<?>[ranks.size()]; // the group that has each rank, as its first member sees it
        for (int rank = 0; rank < of.length; rank++) {
            List<Integer> members = ranks.get(rank).groups().get(name);
            if (of[rank] == null && members != null) {
                if (!members.contains(rank) || new HashSet<>(members).size() < members.size()) {
                    return Optional.of("rank " + rank + " has group " + name + " " + members
                        + ", which does not have that rank once");
                }
                for (int member : members) {
                    if (member < 0 || member >= of.length || of[member] != null) {
                        return Optional.of(crossed(name, rank, members, member));
                    }
                    of[member] = members;
                }
            }
        }
        for (int rank = 0; rank < of.length; rank++) {
            List<Integer> own = ranks.get(rank).groups().get(name);
            if (own != of[rank] && (own == null || !own.equals(of[rank]))) {
                int first = (Integer) of[rank].getFirst();
                return Optional.of("group " + name + " " + of[rank] + " of rank " + first + " has rank " + rank
                    + ", whose group " + name + " is " + (own == null ? "missing" : own));
            }
        }
        return Optional.empty();
    }

    private static String crossed(String name, int rank, List<Integer> members, int member) {
        return "rank " + rank + " has group " + name + " " + members + ", and rank " + member
            + " is in another group of that name or no rank of the job";
    }
}
