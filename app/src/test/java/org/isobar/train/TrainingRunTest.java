package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.awt.image.BufferedImage;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import javax.imageio.ImageIO;

import com.fasterxml.jackson.databind.JsonNode;
import org.isobar.checkpoint.safetensors.SafeTensorsFile;
import org.isobar.data.synthetic.SyntheticConfig;
import org.isobar.data.synthetic.SyntheticEra5;
import org.isobar.telemetry.EventFile;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.tensorflow.framework.Summary;

/** Tests whole runs of preset tiny (two epochs of twelve steps) and their output files. */
class TrainingRunTest {
    private static final String TWO_EPOCHS = "num_iters=24";
    private static final List<String> RMSES = List.of("RMSE(u10m)/valid", "RMSE(v10)/valid", "RMSE(t2m)/valid");
    private static final List<String> LOSSES = List.of("Loss/train @ 0", "Loss/valid @ 0", "RMSE(u10m)/valid @ 0",
        "Loss/train @ 12", "Loss/valid @ 12", "RMSE(u10m)/valid @ 12",
        "Loss/train @ 24", "Loss/valid @ 24", "RMSE(u10m)/valid @ 24");

    @TempDir
    private static Path data;
    private static TinyRun run;

    @TempDir
    private Path logs;

    @BeforeAll
    static void train() {
        TinyRun.synthesize(data);
        run = TinyRun.of(data, data.resolve("logs"), TWO_EPOCHS, TinyRun.TWO_BLOCKS).succeeded();
    }

    /** Whole epochs are trained, as in the tutorial; the log says so unless they are all of num_iters. */
    @Test
    void stepsThatAreNotTrainedAreLogged() throws IOException {
        assertFalse(run.log().contains("num_iters 24 steps"), run.log());
        TinyRun shortened = TinyRun.of(data, logs, "num_iters=20").succeeded();
        assertTrue(shortened.log().contains(" - INFO - Training 12 of num_iters 20 steps: whole epochs of 12 steps\n"),
            shortened.log());
    }

    @Test
    void logHasTheLinesOfTheTutorial() throws IOException {
        List<String> expected = ExpectedLog.of(data, run.directory());
        List<String> lines = run.log().lines().toList();
        for (int i = 0; i < Math.min(lines.size(), expected.size()); i++) {
            assertTrue(lines.get(i).matches(expected.get(i)), lines.get(i) + "\n is not\n" + expected.get(i));
        }
        assertEquals(expected.size(), lines.size());
    }

    @Test
    void screenAndFileHaveTheSameLines() throws IOException {
        assertEquals(run.log(), run.screen());
    }

    @Test
    void independentReaderFindsEveryTagAtItsStep() throws IOException {
        List<String> epoch = List.of("Loss/train", "Learning Rate", "Avg iters per sec", "Avg samples per sec",
            "Visualization, t2m", "Loss/valid");
        List<String> before = List.of("Loss/train", "Loss/valid");
        List<String> expected = Stream.of(0, 12, 24).flatMap(step -> Stream.concat(
            (step == 0 ? before : epoch).stream(), RMSES.stream()).map(tag -> tag + " @ " + step)).toList();
        EventFile events = run.events();
        assertEquals(expected, events.labels());
        assertEquals(5e-4f, events.scalar("Learning Rate", 12), 1e-9f);
        assertEquals(0f, events.scalar("Learning Rate", 24), 1e-9f);
        assertTrue(events.scalar("Loss/valid", 24) < 0.97 * events.scalar("Loss/valid", 0), run.screen());
        float iterations = events.scalar("Avg iters per sec", 12);
        assertEquals(2 * iterations, events.scalar("Avg samples per sec", 12), 1e-4f * iterations);
    }

    @Test
    void logAndTensorBoardHaveTheSameLosses() throws IOException {
        EventFile events = run.events();
        assertTrue(run.log().contains("  Avg val loss=" + (double) events.scalar("Loss/valid", 12) + "\n"));
        List<Double> logged = ProcessJob.losses(run.directory()).get("Avg train loss=");
        assertEquals(logged.getLast(), events.scalar("Loss/train", 24), 0.6e-6); // %f of a double, beside a float
    }

    @Test
    void metricsHaveALineForEachStepAndEpoch() throws IOException {
        List<JsonNode> lines = RunOutputs.metricsLines(run.directory());
        List<String> epoch = Stream.concat(Stream.generate(() -> "step").limit(TinyRun.STEPS),
            Stream.of("epoch", "checkpoint")).toList();
        assertEquals(Stream.of(List.of("run", "epoch", "checkpoint"), epoch, epoch, List.of("end"))
            .flatMap(List::stream).toList(), lines.stream().map(line -> line.get("kind").asText()).toList());
        JsonNode begin = lines.getFirst();
        assertEquals("0.001", begin.at("/configuration/lr").asText());
        assertEquals(1, begin.at("/layout/ranks").asInt());
        assertTrue(begin.at("/memory_planned/activations").asLong() > 0);
        assertEquals("finished", lines.getLast().get("outcome").asText());
        List<JsonNode> second = lines.stream().filter(line -> line.get("step").asLong() == 24).toList();
        EventFile events = run.events();
        assertEquals(events.scalar("Loss/valid", 24), (float) second.get(1).get("valid_loss").asDouble());
        assertEquals(events.scalar("RMSE(t2m)/valid", 24), (float) second.get(1).at("/rmse/t2m").asDouble());
        assertEquals(second.get(1).get("train_loss").asDouble(), lines.stream()
            .filter(line -> line.get("kind").asText().equals("step") && line.get("epoch").asInt() == 2)
            .mapToDouble(line -> line.get("loss").asDouble()).average().orElseThrow(), 1e-12);
    }

    /** The phases of a step are all of its time, and a CPU spends most of it in the passes and the update. */
    @Test
    void phasesOfTheMetricsAddUp() throws IOException {
        for (JsonNode line : RunOutputs.metricsLines(run.directory())) {
            if (line.get("kind").asText().equals("step")) {
                double sum = 0;
                for (JsonNode phase : line.get("phases")) {
                    assertTrue(phase.asDouble() >= 0, line.toString());
                    sum += phase.asDouble();
                }
                assertEquals(line.get("seconds").asDouble(), sum, 1e-5);
                assertTrue(line.at("/phases/backward").asDouble() > 0, line.toString());
                assertEquals(0, line.at("/phases/communication").asDouble());
            }
        }
    }

    @Test
    void pictureIsTheLastOfTensorBoard() throws IOException {
        byte[] png = Files.readAllBytes(run.directory().resolve("prediction.png"));
        Summary.Image last = run.events().image("Visualization, t2m", 24);
        assertArrayEquals(last.getEncodedImageString().toByteArray(), png);
        BufferedImage image = ImageIO.read(new ByteArrayInputStream(png));
        assertEquals(List.of(last.getWidth(), last.getHeight()), List.of(image.getWidth(), image.getHeight()));
        assertTrue(Stream.of(60, 200, 400, 700, 900).map(x -> image.getRGB(x, image.getHeight() / 2)).distinct()
            .count() > 2, "a picture of one colour");
    }

    @Test
    void weightsHaveTheNamesAndShapesOfTheStateDict() {
        Map<String, String> expected = new LinkedHashMap<>(Map.of("pos_embed", "[1, 8, 16]",
            "patch_embed.proj.weight", "[16, 3, 8, 8]", "patch_embed.proj.bias", "[16]",
            "norm.weight", "[16]", "norm.bias", "[16]", "head.weight", "[192, 16]"));
        for (String block : List.of("blocks.0.", "blocks.1.")) {
            for (String norm : List.of("norm1", "norm2")) {
                layer(expected, block + norm, "[16]", "[16]");
            }
            for (String square : List.of("q", "k", "v", "proj")) {
                layer(expected, block + "attn." + square, "[16, 16]", "[16]");
            }
            layer(expected, block + "mlp.fc1", "[64, 16]", "[64]");
            layer(expected, block + "mlp.fc2", "[16, 64]", "[16]");
        }
        try (SafeTensorsFile weights = SafeTensorsFile.open(run.weights())) {
            Map<String, String> actual = new LinkedHashMap<>();
            weights.names().forEach(name -> actual.put(name, weights.shape(name).toString()));
            assertEquals(expected, actual);
        }
    }

    private static void layer(Map<String, String> shapes, String name, String weight, String bias) {
        shapes.put(name + ".weight", weight);
        shapes.put(name + ".bias", bias);
    }

    @Test
    void runFromInitialWeightsStartsWhereTheirRunEnded() throws IOException {
        String oneBatch = "limit_nsamples_val=2"; // step 0 is scored on one batch
        TinyRun first = TinyRun.of(data, logs.resolve("first"), "num_iters=12", oneBatch).succeeded();
        TinyRun second = TinyRun.of(data, logs.resolve("second"), "num_iters=12", oneBatch,
            "init_weights=" + first.weights()).succeeded();
        assertEquals(first.events().scalar("Loss/valid", 12), second.events().scalar("Loss/valid", 0));
        assertTrue(second.log().contains("Overriding total number of samples to: 2\n"));
    }

    /** The first year has one time step more than the others, as a leap year has, and more points. */
    @Test
    void yearsHaveTheirOwnLengths() throws IOException {
        Path own = logs.resolve("own");
        TinyRun.synthesize(own);
        SyntheticEra5.write(new SyntheticConfig(32, 64, 1, 1, 1, TinyRun.STEPS + 1, 2), logs.resolve("longer"),
            SyntheticEra5.Existing.KEEP, line -> { });
        Path first = own.resolve("tiny/train/1979.h5");
        Files.copy(logs.resolve("longer/train/1979.h5"), first, StandardCopyOption.REPLACE_EXISTING);
        Files.delete(own.resolve("tiny/stats/synthetic.json")); // otherwise the year is made again
        String log = TinyRun.of(own, logs, "num_iters=12").succeeded().log();
        assertTrue(log.contains("Number of samples per year: 13\n"), log);
        assertTrue(log.contains("Years differ: they have 12 to 13 samples each, and all are used\n"), log);
        assertTrue(log.contains("Found data at path " + first.getParent() + ". Number of examples: 25. "), log);
        assertTrue(log.contains("WARNING - The data have 32 x 64 points; only the first 16 x 32 of them are read"),
            log);
        assertFalse(run.log().contains("are read (img_size)"), run.log());
    }

    @ParameterizedTest
    @ValueSource(strings = {"num_data_workers=0", "num_data_workers=3", "num_data_workers=100000",
        "threads=1", "threads=2"})
    void lossesDoNotDependOn(String setting) throws IOException {
        assertEquals(losses(run), losses(TinyRun.of(data, logs, TWO_EPOCHS, TinyRun.TWO_BLOCKS, setting).succeeded()));
    }

    @Test
    void otherSeedGivesOtherLosses() throws IOException {
        List<Float> other = losses(TinyRun.of(data, logs, TWO_EPOCHS, TinyRun.TWO_BLOCKS, "seed=2").succeeded());
        for (int i = 0; i < LOSSES.size(); i++) {
            assertNotEquals(losses(run).get(i), other.get(i), LOSSES.get(i));
        }
    }

    @Test
    void dropoutDoesNotAffectTheFirstScore() throws IOException {
        List<Float> with = losses(TinyRun.of(data, logs, TWO_EPOCHS, TinyRun.TWO_BLOCKS, "dropout=0.1").succeeded());
        assertEquals(losses(run).subList(0, 3), with.subList(0, 3));
        assertNotEquals(losses(run).get(3), with.get(3));
        assertTrue(with.get(7) < 0.97 * with.get(1), with::toString);
    }

    @Test
    void fewerOutputThanInputChannels() throws IOException {
        String persistence = persistence(run.log());
        assertTrue(persistence.matches("persistence 0\\.\\d{4}"), persistence);
        assertEquals(persistence, persistence(TinyRun.of(data, logs, "n_out_channels=2").succeeded().log()));
    }

    private static String persistence(String log) {
        int start = log.indexOf("persistence 0.");
        return start < 0 ? log : log.substring(start, start + "persistence 0.1234".length());
    }

    @Test
    void secondRunAppendsToTheLog() throws IOException {
        String first = TinyRun.of(data, logs, "num_iters=12").succeeded().log();
        TinyRun second = TinyRun.of(data, logs, "num_iters=12").succeeded();
        assertEquals(first + second.screen(), second.log());
    }

    @Test
    void whatCannotBeReportedIsNoFailure() throws IOException {
        Files.createDirectories(TinyRun.directory(logs).resolve("report.html/full"));
        String log = TinyRun.of(data, logs, "num_iters=12", "trace=13-20").succeeded().log();
        assertTrue(log.contains(" - WARNING - The report "), log);
        assertTrue(log.contains("--trace 13-20: this process trained none of these steps\n"), log);
        assertTrue(log.contains("DONE ---- rank 0\n"), log);
    }

    @Test
    void noTemporaryFilesRemain() throws IOException {
        try (Stream<Path> files = Files.list(run.directory())) {
            assertEquals(List.of(".checkpoints.lock", "checkpoints", "config.json", "config.yaml", "logs",
                "metrics.jsonl", "model.safetensors", "out.log", "prediction.png", "report.html", "stats"),
                files.map(file -> file.getFileName().toString()).sorted().toList());
        }
    }

    @Test
    void dataAreGeneratedOnlyWhereTheRunReadsThem() throws IOException {
        TinyRun astray = TinyRun.of(data, logs.resolve("logs"), "train_data_path=" + logs.resolve("own/years"));
        assertEquals(2, astray.code());
        assertFalse(Files.exists(logs.resolve("own")));

        TinyRun fresh = TinyRun.of(logs.resolve("data"), logs.resolve("logs"), "num_iters=12").succeeded();
        assertTrue(fresh.log().contains("  train/1979.h5\n"), fresh.screen());
    }

    private static List<Float> losses(TinyRun run) throws IOException {
        EventFile events = run.events();
        return LOSSES.stream().map(label -> label.split(" @ "))
            .map(label -> events.scalar(label[0], Long.parseLong(label[1]))).toList();
    }
}
