package org.isobar.plan;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;

import org.isobar.distributed.Axis;
import org.isobar.distributed.ProcessGrid;
import org.isobar.plan.cost.CollectiveCosts;
import org.isobar.plan.cost.GroupSpan;
import org.isobar.plan.cost.OperationCosts;
import org.isobar.plan.simulate.SimulatedRank;
import org.isobar.plan.simulate.StepSimulator;
import org.isobar.plan.simulate.TimedEvent;
import org.isobar.plan.simulate.Timeline;
import org.isobar.plan.trace.StepEvent;
import org.isobar.plan.trace.StepTrace;

/**
 * The time of a step from the traces of its roles. Ranks of one role issue the same and are simulated once: a role is
 * a part of the tokens, of which the last can differ from the others. On a CPU, computation waits for each collective
 * at once: its messages take the cores that would compute meanwhile. A collective takes as long as the slowest
 * group along its axes. Other groups wait for that group in a later collective.
 *
 * @param operations   costs of operations
 * @param collectives  costs of collectives
 * @param ranksPerNode ranks of a node
 * @param launch       seconds between two operations
 */
record StepModel(OperationCosts operations, CollectiveCosts collectives, int ranksPerNode, double launch) {
    private static final String OTHER_RANKS = "all";

    /**
     * Simulates a step.
     *
     * @param grid   the process grid
     * @param traces the trace of each role: of the first part of the tokens, and of the last if it differs
     * @return the timeline of the slowest role
     */
    Timeline simulate(ProcessGrid grid, List<StepTrace> traces) {
        Map<String, Set<GroupSpan>> spans = new HashMap<>();
        List<SimulatedRank> ranks = new ArrayList<>();
        int here = Math.min(ranksPerNode, grid.worldSize());
        List<Integer> everyRole = new ArrayList<>();
        for (int role = 0; role < traces.size(); role++) {
            everyRole.add(role);
        }
        for (int role = 0; role < traces.size(); role++) {
            List<TimedEvent> events = new ArrayList<>();
            Map<String, List<Integer>> groups = new HashMap<>();
            List<StepEvent> issued = traces.get(role).events();
            for (int i = 0; i < issued.size(); i++) {
                StepEvent event = issued.get(i);
                if (event instanceof StepEvent.Issue issue) {
                    spans.computeIfAbsent(issue.group(), name -> spans(grid, name));
                    groups.put(issue.group(), issue.group().contains("cp") ? everyRole : List.of(role));
                }
                timed(event, issued.subList(i + 1, issued.size()), spans, here, events);
            }
            ranks.add(new SimulatedRank(events, groups));
        }
        List<Timeline> timelines = StepSimulator.run(ranks);
        return timelines.stream().max((a, b) -> Double.compare(a.end(), b.end())).orElseThrow();
    }

    /** Whether the rank computes between the issue of a collective and the wait for it. */
    private static boolean overlaps(int number, List<StepEvent> later) {
        return later.stream().takeWhile(event -> !event.equals(new StepEvent.Await(number)))
            .anyMatch(StepEvent.Operation.class::isInstance);
    }

    private void timed(StepEvent event, List<StepEvent> later, Map<String, Set<GroupSpan>> spans, int here,
        List<TimedEvent> events) {
        switch (event) {
            case StepEvent.Operation operation -> {
                events.add(new TimedEvent.Compute(label(operation.work()),
                    operation.repeats() * operations.seconds(operation)));
                if (launch > 0) {
                    events.add(new TimedEvent.Compute("launch", operation.repeats() * launch));
                }
            }
            case StepEvent.Issue issue -> {
                boolean shares = !collectives.machine().isGpu();
                boolean overlapped = shares && overlaps(issue.number(), later);
                double seconds = spans.get(issue.group()).stream()
                    .mapToDouble(span -> collectives.sharing(span, here) * seconds(issue, span, overlapped)).max()
                    .orElseThrow();
                events.add(new TimedEvent.Issue(issue.number(), issue.group(), seconds));
                if (shares) { // the cores that would compute meanwhile carry the messages
                    events.add(new TimedEvent.Await(issue.number()));
                }
            }
            case StepEvent.Await await -> events.add(new TimedEvent.Await(await.number()));
        }
    }

    private double seconds(StepEvent.Issue issue, GroupSpan span, boolean overlapped) {
        return overlapped ? collectives.overlappedSeconds(issue.kind(), span, issue.bytes(), issue.even())
            : collectives.seconds(issue.kind(), span, issue.bytes(), issue.even());
    }

    private Set<GroupSpan> spans(ProcessGrid grid, String group) {
        List<Axis> axes = Arrays.stream(group.split("-")).map(name -> Axis.valueOf(name.toUpperCase(Locale.ROOT)))
            .toList();
        return GroupSpan.of(grid, axes, ranksPerNode);
    }

    /** The name of a part of the breakdown. */
    static String label(StepEvent.Work work) {
        return switch (work) {
            case PRODUCT -> "products";
            case ATTENTION -> "attention";
            case MEMORY -> "memory-bound";
        };
    }

    /** Seconds by part: computation by kind, and communication that is not overlapped by axis. */
    static Map<String, Double> breakdown(Timeline timeline) {
        Map<String, Double> parts = new LinkedHashMap<>();
        for (String name : List.of("products", "attention", "memory-bound", "launch")) {
            parts.put(name, timeline.computation().getOrDefault(name, 0.0));
        }
        for (String axis : List.of("tp", "cp", "dp", OTHER_RANKS)) {
            parts.put("exposed " + axis, 0.0);
        }
        timeline.exposed().forEach((group, seconds) -> parts.merge("exposed " + axis(group), seconds, Double::sum));
        return parts;
    }

    private static String axis(String group) {
        return switch (group) {
            case "tp", "cp", "dp" -> group;
            case "dp-cp", "cp-dp" -> "dp";
            default -> OTHER_RANKS;
        };
    }
}
