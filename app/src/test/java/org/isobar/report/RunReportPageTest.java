package org.isobar.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Collections;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the contents of a report without a browser; {@link RunReportBrowserTest} looks at it with one. */
class RunReportPageTest {
    private static final Pattern DATA =
        Pattern.compile("<script id=\"data\" type=\"application/json\">(.*?)</script>", Pattern.DOTALL);

    @TempDir
    private Path directory;

    @Test
    void dataAreThoseOfTheMetrics() throws IOException {
        JsonNode run = data(RecordedMetrics.page(directory)).get("runs").get(1);
        assertEquals("logs/second", run.get("name").asText().replaceFirst(".*/logs/", "logs/"));
        assertEquals(RecordedMetrics.STEPS, run.at("/steps/loss").size());
        assertEquals(RecordedMetrics.loss(1, 3), run.at("/steps/loss/2").asDouble(), 1e-6);
        assertEquals(2, run.at("/steps/time/0").asDouble(), "seconds since the run began");
        assertEquals(1, run.get("bad_step_lines").size());
        assertEquals(2, run.get("run_lines").size());
        assertEquals(RecordedMetrics.HOSTILE, run.at("/run/configuration/data_dir").asText());
        assertTrue(run.get("picture").asText().startsWith("data:image/png;base64,"));
    }

    /** No element loads from another place, and data cannot end the element that holds them. */
    @Test
    void nothingIsLoaded() throws IOException {
        String html = RecordedMetrics.page(directory);
        String template = DATA.matcher(html).replaceFirst("");
        Matcher links = Pattern.compile("(src|href|action|url)\\s*[=(]\\s*[\"']?([^\"'\\s>]*)").matcher(template);
        assertEquals(List.of("data:,"), links.results().map(link -> link.group(2)).toList());
        assertFalse(template.contains("://"), "no address, not even of a namespace");
        assertFalse(template.contains("@import"));
        assertEquals(2, html.split("</script>", -1).length - 1, "those of the template");
        assertTrue(html.contains("default-src 'none'"));
    }

    @Test
    void onlyTheLastRunInADirectoryCounts() throws IOException {
        Path run = RecordedMetrics.write(directory.resolve("logs/again"), 0);
        byte[] once = Files.readAllBytes(run.resolve("metrics.jsonl"));
        Files.write(run.resolve("metrics.jsonl"), once, StandardOpenOption.APPEND);
        assertEquals(RecordedMetrics.STEPS, data(RunReportPage.of(List.of(run)).html())
            .at("/runs/0/steps/loss").size());
    }

    @Test
    void damagedLinesAreSkipped() throws IOException {
        Path run = RecordedMetrics.write(directory.resolve("logs/damaged"), 0);
        Path file = run.resolve("metrics.jsonl");
        Files.writeString(file, Files.readString(file) + "\n[1]\n7\n{\"kind\":\"step\",\"loss\":{}}\n{\"kind\":\"epo");
        assertEquals(RecordedMetrics.STEPS + 1, data(RunReportPage.of(List.of(run)).html())
            .at("/runs/0/steps/loss").size());
    }

    /** Lines are merged and pictures left out, so that many long runs fit. */
    @Test
    void aPageIsSmall() throws IOException {
        Path run = RecordedMetrics.write(directory.resolve("logs/long"), 0);
        Files.write(run.resolve("prediction.png"), new byte[900_000]);
        Path file = run.resolve("metrics.jsonl");
        List<String> lines = Files.readAllLines(file);
        String step = lines.stream().filter(line -> line.contains("\"step\",")).findFirst().orElseThrow();
        Files.writeString(file, lines.getFirst() + "\n" + (step + "\n").repeat(1500));
        String html = RunReportPage.of(Collections.nCopies(RunReportPage.MOST_RUNS, run)).html();
        assertTrue(html.length() < RunReportPage.MOST_BYTES, () -> html.length() + " bytes");
        JsonNode runs = data(html).get("runs");
        assertTrue(runs.get(0).at("/steps/loss").size() <= 500);
        assertEquals(1500, sum(runs.get(0).at("/steps/steps")));
        assertFalse(runs.get(0).get("picture").isNull());
        assertTrue(runs.get(11).get("picture_left_out").asBoolean());
    }

    @Test
    void whatIsNoRunIsRefused() throws IOException {
        refused(directory.resolve("absent"), "there is no directory " + directory.resolve("absent"));
        refused(directory, "it is not the directory of a run");
        Files.writeString(directory.resolve("out.log"), "");
        refused(directory, "the run is of an earlier version, which wrote none");
        Files.writeString(directory.resolve("metrics.jsonl"), "{}\n");
        refused(directory, "has no line of kind \"run\"");
        Files.writeString(directory.resolve("metrics.jsonl"), "{\"kind\": \"run\", \"configuration\": {}}\n");
        refused(directory, "it is not the file that a run writes");
        Path run = RecordedMetrics.write(directory.resolve("logs/one"), 0);
        UserException unwritable = assertThrows(UserException.class,
            () -> RunReportPage.of(List.of(run)).write(run.resolve("metrics.jsonl/report.html"), "--out"));
        assertTrue(unwritable.getMessage().startsWith("cannot write the report "), unwritable.getMessage());
        assertThrows(UserException.class, () -> RunReportPage.of(Collections.nCopies(13, run)));
    }

    private static void refused(Path run, String reason) {
        String message = assertThrows(UserException.class, () -> RunReportPage.of(List.of(run))).getMessage();
        assertTrue(message.contains(reason), message);
    }

    private static int sum(JsonNode numbers) {
        int sum = 0;
        for (JsonNode number : numbers) {
            sum += number.asInt();
        }
        return sum;
    }

    private static JsonNode data(String html) throws IOException {
        Matcher block = DATA.matcher(html);
        assertTrue(block.find());
        return new JsonMapper().readTree(block.group(1));
    }
}
