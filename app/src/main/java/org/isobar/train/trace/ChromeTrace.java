package org.isobar.train.trace;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.isobar.config.keys.StepRange;
import org.isobar.os.ProgramVersion;

/**
 * Timelines of ranks as one file in the Trace Event Format, which Perfetto and Chrome's about:tracing show: a process
 * for each rank, a thread for each lane. Times are microseconds since rank 0 left the first barrier.
 */
final class ChromeTrace {
    private static final double NANOS_PER_MICRO = 1e3;
    private static final List<String> FIRST_LANES = List.of(StepTracer.STEPS, StepTracer.RANGES, StepTracer.PHASES,
        StepTracer.OPERATIONS);
    private static final JsonMapper JSON = new JsonMapper();

    private final List<RankTimeline> ranks;
    private final Map<Integer, Long> offsets = new LinkedHashMap<>();
    private final Map<String, Latest> latest = new HashMap<>();
    private final ObjectNode trace = JSON.createObjectNode();
    private final ArrayNode events = trace.putArray("traceEvents");

    /** The rank that issued a collective last, and when, by the clock of rank 0. */
    private record Latest(int rank, long issued) { }

    /** The trace of ranks; the first is rank 0. */
    ChromeTrace(List<RankTimeline> ranks, StepRange steps) {
        this.ranks = ranks;
        trace.put("displayTimeUnit", "ms");
        ObjectNode about = trace.putObject("otherData").put("program", "isobar " + ProgramVersion.text())
            .put("steps", steps.toString())
            .put("clocks", "The clock of each rank is shifted by the median of its differences to rank 0's at the ends "
                + "of barriers; the spread is the largest deviation from it.");
        about.put("cut", ranks.stream().anyMatch(RankTimeline::cut));
        ObjectNode shifts = about.putObject("clock_shift_us");
        ObjectNode spreads = about.putObject("clock_spread_us");
        for (RankTimeline rank : ranks) {
            long[] differences = differences(rank);
            offsets.put(rank.rank(), differences[differences.length / 2]);
            shifts.put(String.valueOf(rank.rank()), -differences[differences.length / 2] / NANOS_PER_MICRO);
            spreads.put(String.valueOf(rank.rank()),
                (differences[differences.length - 1] - differences[0]) / 2 / NANOS_PER_MICRO);
        }
        ranks.forEach(this::findLatest);
    }

    /** Differences of a rank's clock to that of rank 0 at the ends of the barriers, in order. */
    private long[] differences(RankTimeline rank) {
        long[] first = ranks.getFirst().barriers();
        return IntStream.range(0, first.length).mapToLong(i -> rank.barriers()[i] - first[i]).sorted().toArray();
    }

    /** Notes which rank is the last to issue each collective: the others wait for it. */
    private void findLatest(RankTimeline rank) {
        rank.collectives().stream().filter(call -> !call.paired()).forEach(call -> latest.merge(key(call),
            new Latest(rank.rank(), call.issued() - offsets.get(rank.rank())),
            (a, b) -> b.issued > a.issued ? b : a));
    }

    private static String key(RankTimeline.Exchange call) {
        return call.id() + " " + call.number();
    }

    /** The file. */
    byte[] json() {
        for (RankTimeline rank : ranks) {
            Map<String, Integer> threads = new LinkedHashMap<>();
            FIRST_LANES.forEach(lane -> threads.put(lane, threads.size()));
            name("process_name", rank.rank(), 0, "rank " + rank.rank());
            rank.spans().stream().sorted(Comparator.comparingLong(RankTimeline.Span::start))
                .forEach(span -> add(rank, threads, span));
            lanes(rank.collectives()).forEach((lane, calls) -> calls.forEach(call -> add(rank, threads, lane, call)));
            threads.forEach((lane, thread) -> name("thread_name", rank.rank(), thread, lane));
            threads.forEach((_, thread) -> events.addObject().put("ph", "M").put("name", "thread_sort_index")
                .put("pid", rank.rank()).put("tid", thread).putObject("args").put("sort_index", thread));
        }
        try {
            return JSON.writeValueAsBytes(trace);
        } catch (JsonProcessingException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private void name(String kind, int rank, int thread, String name) {
        events.addObject().put("ph", "M").put("name", kind).put("pid", rank).put("tid", thread)
            .putObject("args").put("name", name);
    }

    private ObjectNode add(RankTimeline rank, Map<String, Integer> threads, RankTimeline.Span span) {
        long begin = ranks.getFirst().barriers()[0];
        double start = (span.start() - offsets.get(rank.rank()) - begin) / NANOS_PER_MICRO;
        return events.addObject().put("ph", "X").put("name", span.name()).put("pid", rank.rank())
            .put("tid", threads.computeIfAbsent(span.lane(), _ -> threads.size())).put("ts", start)
            .put("dur", span.nanos() / NANOS_PER_MICRO);
    }

    private void add(RankTimeline rank, Map<String, Integer> threads, String lane, RankTimeline.Exchange call) {
        ObjectNode values = add(rank, threads, new RankTimeline.Span(lane, call.kind() + " " + call.group(),
            call.issued(), call.finished() - call.issued())).putObject("args").put("bytes", call.bytes())
            .put("group", call.id()).put("number", call.number())
            .put("host_waited_us", (call.finished() - call.awaited()) / NANOS_PER_MICRO);
        Latest last = latest.get(key(call));
        if (!call.paired() && last.rank != rank.rank()) {
            long until = Math.min(last.issued, call.finished() - offsets.get(rank.rank()));
            values.put("waited_for_rank", last.rank).put("waited_for_us",
                Math.max(0, until - (call.awaited() - offsets.get(rank.rank()))) / NANOS_PER_MICRO);
        }
    }

    /** Collectives by lane: those that overlap have different ones. */
    private static Map<String, List<RankTimeline.Exchange>> lanes(List<RankTimeline.Exchange> calls) {
        Map<String, List<RankTimeline.Exchange>> lanes = new LinkedHashMap<>();
        calls.stream().sorted(Comparator.comparingLong(RankTimeline.Exchange::issued)).forEach(call -> {
            String lane = "collectives";
            for (int i = 2; lanes.containsKey(lane) && lanes.get(lane).getLast().finished() > call.issued(); i++) {
                lane = "collectives " + i;
            }
            lanes.computeIfAbsent(lane, _ -> new ArrayList<>()).add(call);
        });
        return lanes;
    }
}
