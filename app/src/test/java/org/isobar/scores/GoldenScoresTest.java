package org.isobar.scores;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.InputStream;
import java.lang.foreign.MemorySegment;
import java.time.LocalDateTime;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import org.junit.jupiter.api.Test;

/** Scores of fields that integer formulas give, against those of {@code tools/reference/score_reference.py}. */
class GoldenScoresTest {
    private static final int TIMES = 4;
    private static final int LEADS = 3;
    private static final int ROWS = 5;
    private static final int COLUMNS = 12;
    private static final int MODEL = 1;
    private static final int PERSISTENCE = 2;
    private static final int CLIMATOLOGY = 3;
    private static final int TRUTH = 4;
    private static final List<String> VARIABLES = List.of("v0", "v1");
    private static final double[] WEIGHTS = AreaWeights.of(AreaWeights.tutorialLatitudes(ROWS));
    private static final double ROUNDING = 1e-12; // relative; sums of 60 numbers in another order

    private final JsonNode golden = golden();

    private static JsonNode golden() {
        try (InputStream file = GoldenScoresTest.class.getResourceAsStream("golden.json")) {
            return new ObjectMapper().readTree(file);
        } catch (IOException failure) {
            throw new IllegalStateException(failure);
        }
    }

    private static MemorySegment field(int what, int time, int lead, int v) {
        float[] values = new float[ROWS * COLUMNS];
        for (int y = 0; y < ROWS; y++) {
            for (int x = 0; x < COLUMNS; x++) {
                int number = 31 * what + 17 * time + 13 * lead + 7 * v + 5 * y * y + 3 * x * x + x * y + what * x
                    + what * time * y;
                values[y * COLUMNS + x] = number % 97 / 8f - 6 + 100 * v;
            }
        }
        return MemorySegment.ofArray(values);
    }

    private static MemorySegment forecast(ForecastKind kind, int time, int lead, int v) {
        return switch (kind) {
            case MODEL -> field(MODEL, time, lead, v);
            case PERSISTENCE -> field(PERSISTENCE, time, 0, v);
            case CLIMATOLOGY, SECOND_MODEL -> field(CLIMATOLOGY, time, lead, v);
        };
    }

    private static ScoreTable table() {
        List<ForecastKind> kinds = List.of(ForecastKind.MODEL, ForecastKind.PERSISTENCE, ForecastKind.CLIMATOLOGY);
        ScoreTable table = new ScoreTable(kinds, LEADS, VARIABLES.size(), TIMES);
        for (ForecastKind kind : kinds) {
            for (int at = 0; at < TIMES * LEADS * 2; at++) {
                int time = at / 2 / LEADS;
                int lead = at / 2 % LEADS + 1;
                table.put(kind, lead, at % 2, time, FieldScores.of(WEIGHTS, forecast(kind, time, lead, at % 2),
                    field(TRUTH, time, lead, at % 2), Optional.of(field(CLIMATOLOGY, time, lead, at % 2))));
            }
        }
        return table;
    }

    private static String key(String forecast, String variable, int lead, String metric) {
        return String.join(" ", forecast, variable, Integer.toString(lead), metric);
    }

    @Test
    void weightsAgree() {
        assertArrayEquals(StreamSupport.stream(golden.get("weights").spliterator(), false)
            .mapToDouble(JsonNode::asDouble).toArray(), WEIGHTS, ROUNDING);
    }

    @Test
    void everyScoreAgrees() {
        List<LocalDateTime> times = IntStream.range(0, TIMES)
            .mapToObj(i -> LocalDateTime.of(2018, 1, 1, 0, 0).plusDays(8L * i)).toList();
        List<Score> scores = ScoreSummary.of(table(), VARIABLES, new BlockBootstrap(times, 0));
        Map<String, JsonNode> expected = StreamSupport.stream(golden.get("scores").spliterator(), false)
            .collect(Collectors.toMap(line -> key(line.get("forecast").asText(), line.get("variable").asText(),
                line.get("lead_steps").asInt(), line.get("metric").asText()), Function.identity()));
        assertEquals(expected.size(), scores.size());
        for (Score score : scores) {
            String key = key(score.forecast().label(), score.variable(), score.leadSteps(), score.metric());
            Estimate estimate = score.estimate();
            if (expected.get(key).get("value").isNull()) {
                assertTrue(Double.isNaN(estimate.value()), key);
            } else {
                double value = expected.get(key).get("value").asDouble();
                assertEquals(value, estimate.value(), ROUNDING * Math.max(1, Math.abs(value)), key);
                assertTrue(estimate.low() <= estimate.value() && estimate.value() <= estimate.high(), key);
            }
        }
    }

    @Test
    void everySpectrumAgrees() {
        ZonalSpectrum spectrum = new ZonalSpectrum(WEIGHTS, COLUMNS);
        SpectrumMeans spectra = new SpectrumMeans(LEADS, VARIABLES.size(), COLUMNS);
        for (int at = 0; at < TIMES * LEADS * 2; at++) {
            int time = at / 2 / LEADS;
            int lead = at / 2 % LEADS + 1;
            spectra.add(SpectrumMeans.Side.FORECAST, lead, at % 2, spectrum.power(field(MODEL, time, lead, at % 2)));
            spectra.add(SpectrumMeans.Side.TRUTH, lead, at % 2, spectrum.power(field(TRUTH, time, lead, at % 2)));
        }
        assertEquals(LEADS * 2, golden.get("spectra").size());
        for (JsonNode line : golden.get("spectra")) {
            int lead = line.get("lead_steps").asInt();
            int variable = VARIABLES.indexOf(line.get("variable").asText());
            assertSpectrum(line.get("forecast"), spectra.mean(SpectrumMeans.Side.FORECAST, lead, variable, TIMES));
            assertSpectrum(line.get("truth"), spectra.mean(SpectrumMeans.Side.TRUTH, lead, variable, TIMES));
            assertEquals(line.get("ratio").asDouble(), spectra.smallScaleRatio(lead, variable), ROUNDING);
        }
    }

    private static void assertSpectrum(JsonNode expected, double[] power) {
        assertEquals(expected.size(), power.length);
        double total = DoubleStream.of(power).sum();
        for (int k = 0; k < power.length; k++) {
            assertEquals(expected.get(k).asDouble(), power[k], ROUNDING * total);
        }
    }
}
