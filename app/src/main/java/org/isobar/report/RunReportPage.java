package org.isobar.report;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.HashSet;
import java.util.List;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.ProgramVersion;

/**
 * A page in one HTML file about one or several runs: curves, times, memory, events, pictures and configurations. It
 * loads nothing, from no other file and no other host. Its template is {@code report.html}, into which the style, the
 * script and the data are inserted.
 */
public final class RunReportPage {
    /** Name of the page in a run's directory. */
    public static final String NAME = "report.html";
    /** Size from which on pictures and traces are left out. */
    static final int MOST_BYTES = 3_000_000;
    /** Most runs of a page: there are no more different curves. */
    static final int MOST_RUNS = 12;
    private static final int MOST_POINTS = 6000; // of all curves of a kind
    private static final int MOST_POINTS_OF_RUN = 800;
    private static final List<String> SCRIPTS = List.of("chart.js", "report.js");
    private static final JsonMapper JSON = new JsonMapper();

    private final List<RunHistory> runs;

    private RunReportPage(List<RunHistory> runs) {
        this.runs = runs;
    }

    /**
     * The page about the runs in these directories.
     *
     * @throws UserException if one has no run with metrics, or there are too many
     */
    public static RunReportPage of(List<Path> directories) {
        if (directories.size() > MOST_RUNS) {
            throw new UserException("a report has at most " + MOST_RUNS + " runs, and " + directories.size()
                + " are given; choose some of them");
        }
        return new RunReportPage(directories.stream().map(RunHistory::read).toList());
    }

    /**
     * Writes the page.
     *
     * @param option the command-line option that selects another path, for error messages
     * @throws UserException if it cannot be written
     */
    public void write(Path file, String option) {
        new AtomicFile("the report", file, option).write(html().getBytes(StandardCharsets.UTF_8));
    }

    /** The page as HTML. */
    String html() {
        ObjectNode data = data();
        String page = page(data);
        int excess = page.length() - MOST_BYTES;
        if (excess <= 0) {
            return page;
        }
        for (int last = runs.size() - 1; last >= 0 && excess > 0; last--) {
            ObjectNode run = (ObjectNode) data.get("runs").get(last);
            excess -= run.path("picture").asText().length() + run.path("trace").toString().length();
            run.put("picture", (String) null).put("picture_left_out", true).remove("trace");
        }
        return page(data);
    }

    private static String page(ObjectNode data) {
        StringBuilder script = new StringBuilder();
        SCRIPTS.forEach(name -> script.append(resource(name)));
        return resource("report.html").replace("/*STYLE*/", resource("report.css"))
            .replace("\"DATA\"", escaped(data)).replace("/*SCRIPT*/", script);
    }

    /** JSON without characters that could end the element that holds it, or the literal of an older browser. */
    private static String escaped(ObjectNode data) {
        try {
            return JSON.writeValueAsString(data).replace("<", "\\u003c").replace(">", "\\u003e")
                .replace("&", "\\u0026").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029");
        } catch (JsonProcessingException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private ObjectNode data() {
        ObjectNode data = JSON.createObjectNode().put("version", ProgramVersion.text())
            .put("made", Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
        ArrayNode all = data.putArray("runs");
        int points = Math.min(MOST_POINTS_OF_RUN, MOST_POINTS / Math.max(runs.size(), 1));
        List<String> names = names();
        for (int i = 0; i < runs.size(); i++) {
            all.add(runs.get(i).data(names.get(i), points));
        }
        return data;
    }

    /** The last three names of each path, such as demo/1GPU/00, or as many more as tell the runs apart. */
    private List<String> names() {
        List<Path> paths = runs.stream().map(run -> run.directory().toAbsolutePath().normalize()).toList();
        for (int parts = 3; ; parts++) {
            int count = parts;
            List<String> names = paths.stream().map(path -> path.subpath(Math.max(0, path.getNameCount() - count),
                path.getNameCount()).toString()).toList();
            boolean whole = paths.stream().allMatch(path -> path.getNameCount() <= count);
            if (whole || new HashSet<>(names).size() == names.size()) {
                return names;
            }
        }
    }

    private static String resource(String name) {
        try (InputStream stream = RunReportPage.class.getResourceAsStream(name)) {
            return new String(stream.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
