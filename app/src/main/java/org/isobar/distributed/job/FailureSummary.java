package org.isobar.distributed.job;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;

/** Logs the failure of a large job once: rank 0 writes a line for each finding, with the ranks that have made it. */
public final class FailureSummary {
    /** Ranks that are connected to rank 0, with rank 0 itself: the first to find that it is lost. */
    public static final int ROOT_AND_CHILDREN = JobTree.FAN_OUT + 1;
    private static final int MOST_LINES = 8;
    private static final int MOST_RANGES = 16;

    private FailureSummary() { }

    /** Whether rank 0 logs the failures of a job of this size. In smaller ones, each rank logs its own. */
    public static boolean isFor(int worldSize) {
        return worldSize > ROOT_AND_CHILDREN;
    }

    /**
     * Takes part in logging the failure of a job. All ranks that fail call this, before they leave the job.
     *
     * @param finding what this rank has found itself; empty if another rank has made the job fail
     * @param message of this rank's exception
     * @param log     receives the lines on rank 0
     * @return whether the failure of this rank is logged; otherwise this rank must log it
     */
    public static boolean log(Job job, Optional<String> finding, String message, Consumer<String> log) {
        Findings findings = job.watch().findings();
        if (job.rank() > 0) {
            return finding.isPresent() && findings.entrust(finding.get());
        }
        SortedMap<Integer, String> all = findings.gather();
        finding.ifPresent(own -> all.put(0, own));
        if (finding.isEmpty()) {
            log.accept(message + " (the other " + (job.worldSize() - 1) + " ranks end, too)");
        }
        SortedMap<Integer, String> more = new TreeMap<>(all);
        more.entrySet().removeIf(each -> finding.isEmpty() && message.endsWith("rank " + each.getKey() + " "
            + each.getValue())); // the loss of a rank
        lines(more).forEach(log);
        findings.confirm(all);
        return true;
    }

    /** A line for each finding. If there are many, those that differ in numbers only share one. */
    static List<String> lines(SortedMap<Integer, String> findings) {
        Map<String, List<Integer>> equal = grouped(findings, text -> text);
        if (equal.size() <= MOST_LINES) {
            return equal.entrySet().stream().map(group -> ranks(group.getValue()) + ": " + group.getKey()).toList();
        }
        return grouped(findings, text -> text.replaceAll("\\d+", "#")).values().stream().map(ranks -> ranks(ranks)
            + ": " + findings.get(ranks.getFirst()) + (ranks.size() == 1 ? "" : " (on rank " + ranks.getFirst()
            + "; the others differ in numbers only)")).toList();
    }

    private static Map<String, List<Integer>> grouped(SortedMap<Integer, String> findings, UnaryOperator<String> key) {
        return findings.keySet().stream().collect(Collectors.groupingBy(rank -> key.apply(findings.get(rank)),
            LinkedHashMap::new, Collectors.toList()));
    }

    /** Names ascending ranks: {@code rank 7}, {@code ranks 0-4, 6-1023}. */
    static String ranks(List<Integer> ranks) {
        List<String> ranges = new ArrayList<>();
        int first = 0;
        for (int i = 0; i < ranks.size(); i++) {
            if (i + 1 == ranks.size() || ranks.get(i + 1) != ranks.get(i) + 1) {
                ranges.add(ranks.get(first) + (first == i ? "" : "-" + ranks.get(i)));
                first = i + 1;
            }
        }
        String more = ranges.size() > MOST_RANGES ? "..., " + ranks.size() + " ranks" : null;
        String all = ranges.stream().limit(MOST_RANGES).collect(Collectors.joining(", "));
        return (ranks.size() == 1 ? "rank " : "ranks ") + all + (more == null ? "" : ", " + more);
    }
}
