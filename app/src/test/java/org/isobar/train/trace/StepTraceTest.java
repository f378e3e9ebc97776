package org.isobar.train.trace;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import org.isobar.train.RunOutputs;
import org.isobar.train.ThreadJob;
import org.isobar.train.TinyRun;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the trace of steps 3 to 5 of a job of two ranks that share weights. */
class StepTraceTest {
    private static final int STEPS = 6;
    private static final String[] SETTINGS = {TinyRun.TWO_BLOCKS, "num_iters=" + STEPS, "limit_nsamples=" + 2 * STEPS,
        "limit_nsamples_val=2", "tensor_parallel=2", "prove_collectives=0"};

    @TempDir
    private static Path data;
    private static ThreadJob traced;
    private static JsonNode trace;

    @BeforeAll
    static void train() throws Exception {
        TinyRun.synthesize(data);
        traced = ThreadJob.of(data, data.resolve("traced"), 2, Stream.concat(Stream.of(SETTINGS),
            Stream.of("trace=3-5", "checkpoint_every=3")).toArray(String[]::new)).ended(0);
        trace = new JsonMapper().readTree(traced.directory().resolve("trace.json").toFile());
    }

    @Test
    void everyRankHasItsLanes() {
        assertFalse(trace.at("/otherData/cut").asBoolean(true));
        for (int rank = 0; rank < 2; rank++) {
            Set<String> lanes = new TreeSet<>(names(rank).values());
            assertTrue(lanes.containsAll(Set.of("steps", "training", "phases", "operations", "collectives",
                "isobar-data-0")), lanes::toString);
            assertEquals(List.of("step 3", "step 4", "step 5"), events(rank, "steps").stream()
                .map(event -> event.get("name").asText()).toList());
        }
        assertTrue(texts(0, "isobar-checkpoint").contains("write checkpoint-3"));
        assertTrue(texts(0, "training").contains("copy for checkpoint-3"));
    }

    /** Times are positive, and what a thread does follows one another or nests: Perfetto shows nothing else. */
    @Test
    void eventsOfALaneDoNotOverlapInPart() {
        for (int rank = 0; rank < 2; rank++) {
            for (String lane : new TreeSet<>(names(rank).values())) {
                List<JsonNode> events = events(rank, lane);
                for (JsonNode a : events) {
                    assertTrue(a.get("dur").asDouble() >= 0, a::toString);
                    for (JsonNode b : events) {
                        assertFalse(begin(a) < begin(b) && begin(b) < end(a) - 1e-6 && end(a) < end(b) - 1e-6,
                            () -> lane + ": " + a + " and " + b);
                    }
                }
            }
        }
    }

    /** The phases of a step are all of its time, and its operations are those of forward, backward and update. */
    @Test
    void phasesAndOperationsFillTheSteps() {
        JsonNode step = events(0, "steps").get(1);
        double phases = events(0, "phases").stream()
            .mapToDouble(event -> Math.min(end(event), end(step)) - Math.max(begin(event), begin(step)))
            .filter(shared -> shared > 0).sum();
        assertEquals(step.get("dur").asDouble(), phases, 0.05 * step.get("dur").asDouble());
        List<String> operations = events(0, "operations").stream().filter(event -> begin(event) >= begin(step)
            && end(event) <= end(step)).map(event -> event.get("name").asText()).toList();
        for (String operation : List.of("patchify", "layerNorm", "relativeL2Loss", "relativeL2LossBackward", "adam")) {
            assertTrue(operations.contains(operation), operations::toString);
        }
        assertEquals(1, operations.stream().filter("adam"::equals).count());
    }

    /** A collective ends on each rank after both have issued it, by clocks that are aligned. */
    @Test
    void collectivesSayWhoWaitedForWhom() {
        Map<String, JsonNode> first = calls(0);
        Map<String, JsonNode> second = calls(1);
        assertEquals(first.keySet(), second.keySet());
        assertTrue(first.size() > 20, first::toString);
        double spread = trace.at("/otherData/clock_spread_us/1").asDouble();
        for (String call : first.keySet()) {
            JsonNode a = first.get(call);
            JsonNode b = second.get(call);
            assertTrue(a.at("/args/bytes").asLong() > 0 || a.get("name").asText().startsWith("barrier"), a::toString);
            assertEquals(a.at("/args/bytes"), b.at("/args/bytes"));
            assertTrue(a.at("/args").has("waited_for_rank") != b.at("/args").has("waited_for_rank"), a + " " + b);
            assertTrue(end(a) >= begin(b) - 2 * spread - 1000 && end(b) >= begin(a) - 2 * spread - 1000, a + " " + b);
        }
    }

    /** Metrics have the time that rank 0 waits for others. */
    @Test
    void communicationIsAPhase() throws IOException {
        List<JsonNode> steps = RunOutputs.metricsLines(traced.directory()).stream()
            .filter(line -> line.get("kind").asText().equals("step")).toList();
        assertEquals(STEPS, steps.size());
        assertTrue(steps.stream().allMatch(line -> line.at("/phases/communication").asDouble() > 0), steps::toString);
    }

    @Test
    void theReportDrawsAStep() throws IOException {
        String page = Files.readString(traced.directory().resolve("report.html"));
        assertTrue(page.contains("\"trace\":{\"step\":\"step "));
        assertTrue(page.contains("relativeL2LossBackward"));
    }

    /** A traced run has the bits of one that is not traced. */
    @Test
    void numbersDoNotChange() throws Exception {
        RunOutputs plain = ThreadJob.of(data, data.resolve("plain"), 2, SETTINGS).ended(0).outputs();
        plain.assertSameLossesAndWeights(traced.outputs(), "traced");
        assertFalse(Files.exists(data.resolve("plain/tiny/2MP/00/trace.json")));
    }

    private static Map<String, JsonNode> calls(int rank) {
        return names(rank).values().stream().filter(lane -> lane.startsWith("collectives"))
            .flatMap(lane -> events(rank, lane).stream())
            .collect(Collectors.toMap(event -> event.at("/args/group").asText() + event.at("/args/number").asText(),
                event -> event));
    }

    private static List<String> texts(int rank, String lane) {
        return events(rank, lane).stream().map(event -> event.get("name").asText()).toList();
    }

    private static double begin(JsonNode event) {
        return event.get("ts").asDouble();
    }

    private static double end(JsonNode event) {
        return begin(event) + event.get("dur").asDouble();
    }

    private static Map<Integer, String> names(int rank) {
        Map<Integer, String> names = new HashMap<>();
        for (JsonNode event : trace.get("traceEvents")) {
            if (event.get("name").asText().equals("thread_name") && event.get("pid").asInt() == rank) {
                names.put(event.get("tid").asInt(), event.at("/args/name").asText());
            }
        }
        return names;
    }

    private static List<JsonNode> events(int rank, String lane) {
        Map<Integer, String> names = names(rank);
        List<JsonNode> events = new ArrayList<>();
        for (JsonNode event : trace.get("traceEvents")) {
            if (event.get("ph").asText().equals("X") && event.get("pid").asInt() == rank
                && names.get(event.get("tid").asInt()).equals(lane)) {
                events.add(event);
            }
        }
        return events;
    }
}
