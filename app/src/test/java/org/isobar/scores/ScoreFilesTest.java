package org.isobar.scores;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.LocalDateTime;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilderFactory;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.isobar.fault.UserException;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.w3c.dom.Document;
import org.w3c.dom.NodeList;

/** Reads the files back: JSON with Jackson, pictures with the JDK's XML parser. */
class ScoreFilesTest {
    private static final LocalDateTime START = LocalDateTime.of(2018, 1, 1, 0, 0);
    private static final double NONE = Double.NaN;

    @TempDir
    private Path directory;

    private static Score score(ForecastKind forecast, String variable, int lead, String metric, double value) {
        return new Score(forecast, variable, lead, metric, new Estimate(value, value - 0.5, value + 0.5));
    }

    private static ScoreReport report() {
        List<Score> scores = Stream.of(
            Stream.of(score(ForecastKind.MODEL, "u10", 1, "rmse", 1.5), score(ForecastKind.MODEL, "u10", 2, "rmse", 2),
                score(ForecastKind.PERSISTENCE, "u10", 1, "rmse", 3), score(ForecastKind.MODEL, "u10", 1, "skill", 0.5),
                score(ForecastKind.MODEL, "u10", 2, "skill", -0.25)),
            Stream.of(new Score(ForecastKind.CLIMATOLOGY, "a, \"b\" & <c>", 2, "acc", new Estimate(NONE, NONE, NONE))))
            .flatMap(lines -> lines).toList();
        return new ScoreReport(Map.of("rmse", "a definition"), List.of("u10", "a, \"b\" & <c>"), List.of("m/s", ""),
            List.of(START, START.plusHours(6)), Duration.ofHours(6), 2, scores);
    }

    private String text(String name) throws IOException {
        return Files.readString(directory.resolve("out").resolve(name));
    }

    private ScoreFiles files() {
        return new ScoreFiles(directory.resolve("out"), "--out");
    }

    @Test
    void scoresAreJson() throws IOException {
        files().writeScores(report());
        JsonNode json = new ObjectMapper().readTree(text("scores.json"));
        assertEquals("a definition", json.get("definitions").get("rmse").asText());
        assertEquals("[\"2018-01-01T00:00:00\",\"2018-01-01T06:00:00\"]", json.get("initial_times").toString());
        assertEquals(6, json.get("scores").size());
        assertEquals("{\"forecast\":\"model\",\"variable\":\"u10\",\"lead_steps\":2,\"lead_hours\":12.0,"
            + "\"metric\":\"rmse\",\"value\":2.0,\"low\":1.5,\"high\":2.5}", json.get("scores").get(1).toString());
        JsonNode last = json.get("scores").get(5);
        assertEquals("a, \"b\" & <c>", last.get("variable").asText());
        assertTrue(last.get("value").isNull() && last.get("low").isNull() && last.get("high").isNull());
    }

    @Test
    void scoresAreCsv() throws IOException {
        files().writeScores(report());
        List<String> lines = text("scores.csv").lines().toList();
        assertEquals("forecast,variable,lead_steps,lead_hours,metric,value,low,high", lines.getFirst());
        assertEquals("model,u10,2,12.0,rmse,2.0,1.5,2.5", lines.get(2));
        assertEquals("climatology,\"a, \"\"b\"\" & <c>\",2,12.0,acc,,,", lines.get(6));
    }

    @Test
    void spectraAreAveraged() throws IOException {
        SpectrumMeans spectra = spectra();
        files().writeSpectra(report(), spectra);
        List<String> lines = text("spectra.csv").lines().toList();
        assertEquals(1 + 2 * 2 * 3, lines.size());
        assertEquals("variable,lead_steps,lead_hours,wavenumber,forecast,truth,ratio", lines.getFirst());
        assertEquals("u10,2,12.0,1,1.0,2.0,0.5", lines.get(1 + 3 + 1)); // two initial times
        assertEquals("u10,1,6.0,0,0.0,0.0,", lines.get(1));
    }

    private static SpectrumMeans spectra() {
        SpectrumMeans spectra = new SpectrumMeans(2, 2, 4);
        spectra.add(SpectrumMeans.Side.FORECAST, 2, 0, new double[] {8, 2, 1});
        spectra.add(SpectrumMeans.Side.TRUTH, 2, 0, new double[] {8, 4, 2});
        return spectra;
    }

    @Test
    void aFileInTheWayIsNamed() throws IOException {
        Files.createFile(directory.resolve("out"));
        UserException refused = Assertions.assertThrows(UserException.class, () -> files().writeScores(report()));
        assertTrue(refused.getMessage().contains("out") && refused.getMessage().contains("--out"),
            refused.getMessage());
    }

    @Test
    void picturesAreXml() throws Exception {
        files().writePicture("rmse.svg", LeadPlot.svg(report(), report().variables(), "rmse"));
        files().writePicture("scorecard.svg", Scorecard.svg(report()));
        files().writePicture("spectra.svg", SpectrumPlot.svg(report(), spectra(), List.of("u10")));
        Document leads = parse("rmse.svg");
        assertEquals(2, leads.getElementsByTagName("polygon").getLength()); // the bands of model and persistence
        assertEquals("rmse against lead", leads.getElementsByTagName("title").item(0).getTextContent());
        NodeList cells = parse("scorecard.svg").getElementsByTagName("rect");
        assertEquals(2, cells.getLength());
        assertEquals("0.50", cells.item(0).getTextContent());
        assertEquals("#90b3d6", cells.item(0).getAttributes().getNamedItem("fill").getTextContent());
        assertEquals("-0.25", cells.item(1).getTextContent());
        assertEquals(2, parse("spectra.svg").getElementsByTagName("path").getLength()); // truth and one lead with power
    }

    private Document parse(String name) throws Exception {
        return DocumentBuilderFactory.newInstance().newDocumentBuilder()
            .parse(directory.resolve("out").resolve(name).toFile());
    }
}
