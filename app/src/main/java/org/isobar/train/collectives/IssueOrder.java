package org.isobar.train.collectives;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

import org.isobar.distributed.CollectiveCall.Kind;

/**
 * Lets all ranks issue their events, where each event but a send blocks its rank until all members of the group have
 * issued an event that matches. All ranks come to their end if and only if members issue equal events in the same
 * order, each send meets its receive, and the union of all ranks' orders has no cycle.
 */
final class IssueOrder {
    private final List<RankTrace> ranks;
    private final int[] next; // index of each rank's next event
    private final List<Map<String, Meeting>> meetings = new ArrayList<>(); // of each rank, by the group's name
    private final Map<Pair, Deque<CollectiveEvent>> sent = new HashMap<>();
    private final Set<Integer> receiving = new HashSet<>(); // ranks that wait for a send
    private final Deque<Integer> ready = new ArrayDeque<>();

    /** A group, and its members that have arrived at its next event. */
    private record Meeting(List<Integer> members, List<Integer> arrived) { }

    /** The sends of one rank to another within a group. */
    private record Pair(String group, int from, int to) { }

    private IssueOrder(List<RankTrace> ranks) {
        this.ranks = ranks;
        next = new int[ranks.size()];
        Map<String, Map<Integer, Meeting>> byFirstMember = new HashMap<>();
        for (RankTrace trace : ranks) {
            Map<String, Meeting> own = new HashMap<>();
            trace.groups().forEach((name, members) -> own.put(name,
                byFirstMember.computeIfAbsent(name, _ -> new HashMap<>())
                .computeIfAbsent(members.getFirst(), _ -> new Meeting(members, new ArrayList<>()))));
            meetings.add(own);
        }
    }

    /**
     * Describes the first event at which ranks do not match, with rank, group and number.
     *
     * @param ranks traces whose groups partition the ranks
     */
    static Optional<String> check(List<RankTrace> ranks) {
        return new IssueOrder(ranks).run();
    }

    private Optional<String> run() {
        for (int rank = 0; rank < next.length; rank++) {
            ready.add(rank);
        }
        while (!ready.isEmpty()) {
            int rank = ready.remove();
            boolean runs = true;
            while (runs && !ended(rank)) {
                CollectiveEvent event = event(rank);
                if (event.isPair()) {
                    runs = exchange(rank, event);
                    continue;
                }
                Optional<String> difference = arrive(rank, event);
                if (difference.isPresent()) {
                    return difference;
                }
                runs = false; // a complete meeting has made it ready again
            }
        }
        return unfinished();
    }

    private boolean ended(int rank) {
        return next[rank] == ranks.get(rank).events().size();
    }

    private CollectiveEvent event(int rank) {
        return ranks.get(rank).events().get(next[rank]);
    }

    private Meeting meeting(int rank, CollectiveEvent event) {
        return meetings.get(rank).get(event.group());
    }

    /** Lets a rank arrive at an event of its whole group; releases all members if it is the last. */
    private Optional<String> arrive(int rank, CollectiveEvent event) {
        Meeting meeting = meeting(rank, event);
        if (!meeting.arrived.isEmpty()) {
            int first = meeting.arrived.getFirst();
            if (!event.matches(event(first))) {
                return Optional.of(place(rank) + "; rank " + first + ": " + event(first));
            }
        }
        meeting.arrived.add(rank);
        if (meeting.arrived.size() == meeting.members.size()) {
            for (int member : meeting.arrived) {
                next[member]++;
                ready.add(member);
            }
            meeting.arrived.clear();
        }
        return Optional.empty();
    }

    /** Sends, or receives what was sent. Returns false if the rank must wait for a send. */
    private boolean exchange(int rank, CollectiveEvent event) {
        int peer = meeting(rank, event).members.get(event.call().root());
        if (event.call().kind() == Kind.SEND) {
            sent.computeIfAbsent(new Pair(event.group(), rank, peer), _ -> new ArrayDeque<>()).add(event);
            if (receiving.remove(peer)) {
                ready.add(peer);
            }
        } else {
            Deque<CollectiveEvent> waiting = sent.get(new Pair(event.group(), peer, rank));
            if (waiting == null || waiting.isEmpty() || !meets(waiting.peek(), event)) {
                receiving.add(rank);
                return false;
            }
            waiting.remove();
        }
        next[rank]++;
        return true;
    }

    private static boolean meets(CollectiveEvent send, CollectiveEvent receive) {
        return send.call().dtype() == receive.call().dtype() && send.call().elements() == receive.call().elements();
    }

    private Optional<String> unfinished() {
        for (int rank = 0; rank < next.length; rank++) {
            if (!ended(rank)) {
                return Optional.of(reason(rank));
            }
        }
        return sent.entrySet().stream().filter(entry -> !entry.getValue().isEmpty()).findFirst()
            .map(entry -> "rank " + entry.getKey().from + ", group " + entry.getKey().group + ", "
                + entry.getValue().peek() + ": rank " + entry.getKey().to + " issues no receive for it");
    }

    /** Follows the ranks that wait for each other, to one that has ended or to one that was seen before. */
    private String reason(int first) {
        Set<Integer> seen = new HashSet<>();
        List<String> chain = new ArrayList<>();
        int rank = first;
        while (seen.add(rank)) {
            int missing = missing(rank);
            chain.add(place(rank));
            if (ended(missing)) {
                return String.join("; ", chain) + " waits for rank " + missing + ", which has issued all of its own";
            }
            rank = missing;
        }
        return "ranks wait for each other: " + String.join("; ", chain.subList(0, Math.min(chain.size(), 4)));
    }

    /** A rank that has not arrived where {@code rank} waits. */
    private int missing(int rank) {
        CollectiveEvent event = event(rank);
        Meeting meeting = meeting(rank, event);
        if (event.isPair()) {
            return meeting.members.get(event.call().root());
        }
        return meeting.members.stream().filter(member -> !meeting.arrived.contains(member)).findFirst().orElseThrow();
    }

    private String place(int rank) {
        CollectiveEvent event = event(rank);
        return "rank " + rank + ", group " + event.group() + " " + shortened(meeting(rank, event).members) + ", "
            + event;
    }

    /** The ranks of a group; of a large one, the first and the last. */
    private static String shortened(List<Integer> members) {
        return members.size() <= 8 ? members.toString()
            : "[" + members.getFirst() + ", " + members.get(1) + ", ..., " + members.getLast() + "]";
    }
}
