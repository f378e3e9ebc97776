package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

import org.isobar.config.ConfigLoader;
import org.isobar.config.ConfigRequest;
import org.isobar.config.RunConfig;
import org.isobar.data.synthetic.SyntheticConfig;
import org.isobar.data.synthetic.SyntheticEra5;
import org.isobar.distributed.JobSecret;
import org.isobar.telemetry.EventFile;
import org.isobar.telemetry.Screen;

/**
 * A run of preset {@code tiny} within this JVM, and what it left.
 *
 * @param code      exit code
 * @param screen    what the screen showed
 * @param directory where the run wrote
 */
record TinyRun(int code, String screen, Path directory) {
    /** Steps of an epoch of the whole training data. */
    static final int STEPS = 12;

    /** Makes the preset's data under {@code directory}. */
    static void synthesize(Path directory) {
        synthesize(directory, 1);
    }

    /** The same of another seed than the preset's. */
    static void synthesize(Path directory, long seed) {
        SyntheticEra5.write(new SyntheticConfig(32, 64, 2, 1, 1, STEPS, seed), directory.resolve("tiny"),
            SyntheticEra5.Existing.KEEP, line -> { });
    }

    /** Trains on the data under {@code data}, writes under {@code logs}; {@code settings} are KEY=VALUE. */
    static TinyRun of(Path data, Path logs, String... settings) {
        return of(data, logs, screen -> screen, settings);
    }

    /** The same with something between the run and its screen. */
    static TinyRun of(Path data, Path logs, UnaryOperator<OutputStream> between, String... settings) {
        return of(data, logs, between, Interruption.NONE, settings);
    }

    /** The same with somebody who may ask it to end. */
    static TinyRun of(Path data, Path logs, UnaryOperator<OutputStream> between, Interruption interruption,
        String... settings) {
        ByteArrayOutputStream screen = new ByteArrayOutputStream();
        int code = TrainingRun.run(config(data, logs, settings), new TrainingRun.Surroundings(JobSecret.none(),
            System.getenv(), Screen.plain(between.apply(screen)), interruption));
        return new TinyRun(code, screen.toString(StandardCharsets.UTF_8), directory(logs));
    }

    /** The configuration of such a run. */
    static RunConfig config(Path data, Path logs, String... settings) {
        return config(data, logs, Map.of(), settings);
    }

    /** The same in an environment. */
    static RunConfig config(Path data, Path logs, Map<String, String> environment, String... settings) {
        ConfigRequest request = new ConfigRequest(Path.of("..", "config", "ViT.yaml"), "tiny", environment)
            .with("data_dir", data.toString()).with("expdir", logs.toString());
        for (String setting : settings) {
            request = request.set(setting);
        }
        return ConfigLoader.load(request);
    }

    /** Where a run with the given log root writes. */
    static Path directory(Path logs) {
        return logs.resolve("tiny/1GPU/00");
    }

    /** The same run; fails unless it came to its end. */
    TinyRun succeeded() {
        assertEquals(0, code, screen);
        return this;
    }

    /** The log file. */
    String log() throws IOException {
        return Files.readString(directory.resolve("out.log"));
    }

    /** The weights. */
    Path weights() {
        return directory.resolve("model.safetensors");
    }

    /** The only TensorBoard file. */
    EventFile events() throws IOException {
        try (Stream<Path> files = Files.list(directory.resolve("logs"))) {
            List<Path> all = files.toList();
            assertEquals(1, all.size(), all::toString);
            return EventFile.read(all.getFirst());
        }
    }
}
