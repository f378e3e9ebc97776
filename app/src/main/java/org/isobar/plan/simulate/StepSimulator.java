package org.isobar.plan.simulate;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Simulates one training step. Each rank has a compute stream, which runs operations in order, and a stream for each
 * communicator, which runs collectives in order. A collective starts when all members have reached it.
 */
public final class StepSimulator {
    private final List<SimulatedRank> ranks;
    private final List<State> states = new ArrayList<>();
    private final Deque<Integer> ready = new ArrayDeque<>();

    /** A collective of a group: what its members know of it. */
    private static final class Meeting {
        private final int members;
        private int arrived;
        private double start;
        private double seconds;
        private double end = Double.NaN; // until all members have arrived
        private final List<Integer> waiting = new ArrayList<>();

        private Meeting(int members) {
            this.members = members;
        }
    }

    /** The progress of one rank. */
    private static final class State {
        private int next;
        private double now; // end of the compute stream's last work
        private final Map<String, List<Meeting>> issued = new HashMap<>();
        private final Map<Integer, Meeting> byNumber = new HashMap<>();
        private final Map<Integer, String> groupOf = new HashMap<>();
        private final List<Timeline.Span> spans = new ArrayList<>();
    }

    private StepSimulator(List<SimulatedRank> ranks) {
        this.ranks = List.copyOf(ranks);
        ranks.forEach(_ -> states.add(new State()));
        for (int rank = 0; rank < ranks.size(); rank++) {
            ready.add(rank);
        }
    }

    /**
     * Simulates a step of ranks that start together.
     *
     * @return the timeline of each rank
     * @throws IllegalArgumentException if ranks wait for collectives that others do not issue
     */
    public static List<Timeline> run(List<SimulatedRank> ranks) {
        return new StepSimulator(ranks).run();
    }

    private List<Timeline> run() {
        Map<List<Object>, Meeting> meetings = new HashMap<>();
        while (!ready.isEmpty()) {
            int rank = ready.remove();
            State state = states.get(rank);
            boolean runs = true;
            while (runs && state.next < ranks.get(rank).events().size()) {
                runs = step(rank, state, ranks.get(rank).events().get(state.next), meetings);
            }
        }
        List<Timeline> timelines = new ArrayList<>();
        for (int rank = 0; rank < states.size(); rank++) {
            State state = states.get(rank);
            if (state.next < ranks.get(rank).events().size()) {
                throw new IllegalArgumentException("simulated rank " + rank + " waits without end at event "
                    + state.next);
            }
            timelines.add(new Timeline(end(rank, state), state.spans));
        }
        return timelines;
    }

    /** Runs one event; returns false if the rank must wait until others have issued theirs. */
    private boolean step(int rank, State state, TimedEvent event, Map<List<Object>, Meeting> meetings) {
        switch (event) {
            case TimedEvent.Compute work -> {
                state.spans.add(new Timeline.Span(Timeline.COMPUTE, work.label(), state.now,
                    state.now + work.seconds()));
                state.now += work.seconds();
            }
            case TimedEvent.Issue issue -> arrive(rank, state, issue, meetings);
            case TimedEvent.Await wait -> {
                Meeting meeting = state.byNumber.get(wait.number());
                if (Double.isNaN(meeting.end)) {
                    meeting.waiting.add(rank);
                    return false;
                }
                if (meeting.end > state.now) {
                    state.spans.add(new Timeline.Span(Timeline.WAIT, state.groupOf.get(wait.number()), state.now,
                        meeting.end));
                    state.now = meeting.end;
                }
            }
        }
        state.next++;
        return true;
    }

    private void arrive(int rank, State state, TimedEvent.Issue issue, Map<List<Object>, Meeting> meetings) {
        List<Integer> members = ranks.get(rank).groups().getOrDefault(issue.group(), List.of(rank));
        List<Meeting> earlier = state.issued.computeIfAbsent(issue.group(), _ -> new ArrayList<>());
        Meeting meeting = meetings.computeIfAbsent(List.of(issue.group(), members, earlier.size()),
            _ -> new Meeting(members.size()));
        meeting.arrived++;
        meeting.start = Math.max(meeting.start, state.now);
        meeting.seconds = Math.max(meeting.seconds, issue.seconds());
        earlier.add(meeting);
        state.byNumber.put(issue.number(), meeting);
        state.groupOf.put(issue.number(), issue.group());
        if (meeting.arrived == meeting.members) {
            double free = earlier.size() > 1 ? earlier.get(earlier.size() - 2).end : 0;
            meeting.start = Math.max(meeting.start, free);
            meeting.end = meeting.start + meeting.seconds;
            ready.addAll(meeting.waiting);
        }
    }

    /** Adds the spans of the communicators' streams, and returns when all streams are done. */
    private static double end(int rank, State state) {
        double[] end = {state.now};
        state.issued.forEach((group, meetings) -> meetings.forEach(meeting -> {
            if (Double.isNaN(meeting.end)) {
                throw new IllegalArgumentException("simulated rank " + rank + " issues a collective of group " + group
                    + " that other members do not issue");
            }
            state.spans.add(new Timeline.Span(group, group, meeting.start, meeting.end));
            end[0] = Math.max(end[0], meeting.end);
        }));
        return end[0];
    }
}
