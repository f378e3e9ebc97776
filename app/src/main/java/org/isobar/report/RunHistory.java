package org.isobar.report;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.isobar.fault.UserException;
import org.isobar.os.FileFault;
import org.isobar.os.RegularFile;
import org.isobar.telemetry.MetricsFile;

/**
 * The metrics of a run, from its directory. Damaged lines are skipped. Of several runs in a directory, this is the last
 * that began there.
 */
public final class RunHistory {
    private static final int MOST_BYTES = 1 << 28;
    private static final int MOST_PICTURE_BYTES = 1 << 20;
    private static final double MILLIS = 1e3;
    /** What a page reads of the first line. */
    private static final List<String> DESCRIPTION = List.of("configuration", "layout", "environment",
        "memory_planned", "training");
    private static final JsonMapper JSON = new JsonMapper();

    private final Path directory;
    private final List<JsonNode> lines; // the first is of kind "run"
    private final double began;

    private RunHistory(Path directory, List<JsonNode> lines) {
        this.directory = directory;
        this.lines = lines;
        began = seconds(lines.getFirst());
    }

    /**
     * Reads the run in a directory.
     *
     * @throws UserException if there is none, or none that has metrics
     */
    public static RunHistory read(Path directory) {
        if (!Files.isDirectory(directory)) {
            throw new UserException("there is no directory " + directory
                + "; give the directory of a run, such as logs/demo/1GPU/00");
        }
        Path file = directory.resolve(MetricsFile.NAME);
        List<JsonNode> lines = new ArrayList<>();
        try {
            new String(RegularFile.read(file, MOST_BYTES), StandardCharsets.UTF_8).lines()
                .map(RunHistory::parse).forEach(line -> add(lines, line));
        } catch (NoSuchFileException absent) {
            throw new UserException(directory + " has no " + MetricsFile.NAME + ": " + (
                Files.exists(directory.resolve("out.log")) ? "the run is of an earlier version, which wrote none"
                : "it is not the directory of a run, such as logs/demo/1GPU/00"), absent);
        } catch (IOException e) {
            throw FileFault.unreadable("metrics " + file, e);
        }
        if (lines.isEmpty() || !DESCRIPTION.stream().allMatch(name -> lines.getFirst().path(name).isObject())) {
            throw new UserException(file + " has no line of kind \"run\" with " + String.join(", ", DESCRIPTION)
                + ": it is not the file that a run writes");
        }
        return new RunHistory(directory, lines);
    }

    /** Adds a line; one of a run that continues none replaces all before it. */
    private static void add(List<JsonNode> lines, JsonNode line) {
        boolean begins = is(line, "run") && !line.path("continues").asBoolean();
        if (begins) {
            lines.clear();
        }
        if (begins || !lines.isEmpty() || is(line, "run")) {
            lines.add(line);
        }
    }

    private static JsonNode parse(String line) {
        try {
            return JSON.readTree(line);
        } catch (JsonProcessingException damaged) {
            return JSON.nullNode();
        }
    }

    private static boolean is(JsonNode line, String kind) {
        return line.path("kind").asText().equals(kind);
    }

    /** The lines of a kind, in the order in which they were written. */
    public List<JsonNode> lines(String kind) {
        return lines.stream().filter(line -> is(line, kind)).toList();
    }

    /** The directory of the run. */
    Path directory() {
        return directory;
    }

    /**
     * The run as data of a page.
     *
     * @param name       by which the page calls it
     * @param mostPoints most points of a curve by step
     */
    ObjectNode data(String name, int mostPoints) {
        ObjectNode data = JSON.createObjectNode().put("name", name).put("directory", directory.toString());
        data.set("run", lines.getFirst());
        List<JsonNode> steps = lines.stream().filter(line -> is(line, "step")).toList();
        data.set("steps", StepSeries.of(steps, steps.stream().map(this::time).toList(), mostPoints).columns());
        for (String kind : List.of("run", "epoch", "rollout", "checkpoint", "bad_step", "end")) {
            ArrayNode all = data.putArray(kind + "_lines");
            lines.stream().filter(line -> is(line, kind)).map(this::timed).forEach(all::add);
        }
        data.put("picture", picture());
        TraceExcerpt.of(directory).ifPresent(excerpt -> data.set("trace", excerpt));
        return data;
    }

    /** A line with its time since the run began; of a line "run", only what may differ from the first. */
    private ObjectNode timed(JsonNode line) {
        ObjectNode timed = ((ObjectNode) line).deepCopy();
        timed.put("time", time(line));
        if (is(line, "run")) {
            timed.remove(List.of("configuration", "memory_planned", "training"));
        }
        return timed;
    }

    private double time(JsonNode line) {
        return Math.round((seconds(line) - began) * MILLIS) / MILLIS;
    }

    private static double seconds(JsonNode line) {
        try {
            return Instant.parse(line.path("time").asText()).toEpochMilli() / MILLIS;
        } catch (DateTimeException damaged) {
            return 0;
        }
    }

    /** The last picture of a prediction as a data URI; null if there is none, or none that a page can hold. */
    private String picture() {
        try {
            byte[] png = RegularFile.read(directory.resolve("prediction.png"), MOST_PICTURE_BYTES);
            return "data:image/png;base64," + Base64.getEncoder().encodeToString(png);
        } catch (IOException absent) {
            return null;
        }
    }
}
