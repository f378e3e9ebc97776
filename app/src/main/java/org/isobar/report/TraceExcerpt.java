package org.isobar.report;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.isobar.os.RegularFile;

/** The step of median length of a run's {@code trace.json}, small enough for a page. */
final class TraceExcerpt {
    private static final String FILE = "trace.json";
    private static final int MOST_BYTES = 1 << 24; // about 200 MB of heap
    private static final int MOST_RANKS = 8;
    private static final int MOST_EVENTS = 4000;
    private static final double TENTHS = 10;
    private static final JsonMapper JSON = new JsonMapper();

    private final Map<Integer, Map<Integer, String>> lanes = new LinkedHashMap<>(); // by rank and thread
    private final List<JsonNode> events = new ArrayList<>(); // of the first ranks
    private int ranks; // of the whole trace

    private TraceExcerpt(JsonNode trace) {
        for (JsonNode event : trace.path("traceEvents")) {
            int rank = event.path("pid").asInt(-1);
            if (event.path("name").asText().equals("thread_name") && rank >= 0) {
                ranks = Math.max(ranks, rank + 1);
                lanes.computeIfAbsent(rank, _ -> new LinkedHashMap<>())
                    .put(event.path("tid").asInt(), event.at("/args/name").asText());
            } else if (event.path("ph").asText().equals("X") && rank >= 0 && rank < MOST_RANKS) {
                events.add(event);
            }
        }
    }

    /** The excerpt of the trace in a run's directory; empty if there is none that can be read. */
    static Optional<ObjectNode> of(Path directory) {
        try {
            return new TraceExcerpt(JSON.readTree(RegularFile.read(directory.resolve(FILE), MOST_BYTES))).medianStep();
        } catch (IOException absent) {
            return Optional.empty();
        }
    }

    private String lane(JsonNode event) {
        return lanes.getOrDefault(event.path("pid").asInt(), Map.of()).getOrDefault(event.path("tid").asInt(), "");
    }

    private Optional<ObjectNode> medianStep() {
        List<JsonNode> steps = events.stream()
            .filter(event -> event.path("pid").asInt() == 0 && lane(event).equals("steps"))
            .sorted(Comparator.comparingDouble(event -> event.path("dur").asDouble())).toList();
        return steps.isEmpty() ? Optional.empty() : Optional.of(during(steps.get((steps.size() - 1) / 2)));
    }

    /** What took place during a step of rank 0; the shortest events are left out if there are too many. */
    private ObjectNode during(JsonNode step) {
        double begin = begin(step);
        double length = step.path("dur").asDouble();
        List<JsonNode> during = events.stream().filter(event -> !lane(event).equals("steps")
            && begin(event) < begin + length && begin(event) + event.path("dur").asDouble() > begin)
            .sorted(Comparator.comparingDouble((JsonNode event) -> -event.path("dur").asDouble())).toList();
        ObjectNode excerpt = JSON.createObjectNode().put("step", step.path("name").asText())
            .put("length", tenths(length));
        excerpt.put("shown", (during.size() > MOST_EVENTS ? "The shortest events are not drawn. " : "")
            + (ranks > MOST_RANKS ? "The first " + MOST_RANKS + " of " + ranks + " ranks are drawn." : ""));
        Map<Integer, Map<String, ArrayNode>> drawn = new LinkedHashMap<>();
        lanes.forEach((rank, names) -> names.values().stream().filter(name -> rank < MOST_RANKS)
            .forEach(name -> drawn.computeIfAbsent(rank, _ -> new LinkedHashMap<>())
                .put(name, JSON.createArrayNode())));
        during.stream().limit(MOST_EVENTS).sorted(Comparator.comparingDouble(TraceExcerpt::begin)).forEach(event ->
            drawn.get(event.path("pid").asInt()).get(lane(event)).addArray().add(event.path("name").asText())
                .add(tenths(begin(event) - begin)).add(tenths(event.path("dur").asDouble())).add(text(event)));
        ArrayNode all = excerpt.putArray("ranks");
        drawn.forEach((rank, byLane) -> {
            ArrayNode list = all.addObject().put("rank", rank).putArray("lanes");
            byLane.forEach((name, found) -> {
                if (!found.isEmpty()) {
                    list.addObject().put("name", name).set("events", found);
                }
            });
        });
        return excerpt;
    }

    /** What the arguments of a collective say. */
    private static String text(JsonNode event) {
        JsonNode values = event.path("args");
        if (!values.has("bytes")) {
            return "";
        }
        return values.path("bytes").asLong() + " bytes" + (values.path("waited_for_us").asDouble() > 0
            ? ", waited " + Math.round(values.path("waited_for_us").asDouble()) + " µs for rank "
            + values.path("waited_for_rank").asInt() : "");
    }

    private static double begin(JsonNode event) {
        return event.path("ts").asDouble();
    }

    private static double tenths(double micros) {
        return Math.round(micros * TENTHS) / TENTHS;
    }
}
