package org.isobar.export;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;

import org.isobar.checkpoint.safetensors.SafeTensorsFile;
import org.isobar.cli.Main;
import org.isobar.cli.options.ProgramContext;
import org.isobar.export.onnx.OnnxSession;
import org.isobar.export.onnx.OwnForward;
import org.isobar.model.ModelSpec;
import org.isobar.pretrained.ModelDirectory;
import org.isobar.train.TinyRun;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** {@code isobar export} of a run, of its checkpoints and of its weights alone. */
class ModelExportTest {
    @TempDir
    private static Path directory;
    private static Path run;
    @TempDir
    private Path out;
    private final StringWriter printed = new StringWriter();

    @BeforeAll
    static void train() {
        TinyRun.synthesize(directory);
        run = TinyRun.of(directory, directory.resolve("logs"), "num_iters=12").succeeded().directory();
    }

    private int export(Path source, String... options) {
        return export(source, out.resolve("model"), options);
    }

    private int export(Path source, Path target, String... options) {
        List<String> line =
            Stream.concat(Stream.of("export", source.toString(), "--out=" + target), Stream.of(options)).toList();
        CommandLine main = Main.commandLine(new ProgramContext(Path.of(".."), Map.of()));
        PrintWriter writer = new PrintWriter(printed);
        return Main.execute(main.setOut(writer).setErr(writer), line.toArray(String[]::new));
    }

    @Test
    void aRunACheckpointAndWeightsGiveTheSameModel() throws IOException {
        Path weights = Files.copy(run.resolve("model.safetensors"), out.resolve("weights.safetensors"));
        String[] preset = Stream.concat(Stream.of("--config=tiny", "--data_dir=" + directory),
            TinyRun.smallerOptions().stream()).toArray(String[]::new);
        for (Path source : List.of(run, run.resolve("model.safetensors"), run.resolve("checkpoints"))) {
            assertEquals(0, export(source), printed::toString);
            assertSameModel(source);
        }
        assertEquals(0, export(weights, preset), printed::toString);
        assertSameModel(weights);
        assertTrue(printed.toString().contains("vit, 3 channels, steps of 6 hours"), printed.toString());
    }

    private void assertSameModel(Path source) throws IOException {
        ModelDirectory expected = ModelDirectory.open(run);
        ModelDirectory model = ModelDirectory.open(out.resolve("model"));
        assertEquals(expected.config(), model.config(), source::toString);
        assertArrayEquals(expected.normalization().spreads(), model.normalization().spreads());
        assertEquals(tensors(expected.weights()), tensors(model.weights()), source::toString);
        try (Stream<Path> files = Files.walk(model.path())) {
            assertEquals(Set.of("config.json", "model.safetensors", "stats/global_means.npy", "stats/global_stds.npy"),
                new HashSet<>(files.filter(Files::isRegularFile).map(model.path()::relativize).map(Path::toString)
                    .toList()));
        }
    }

    /** Each tensor as its name, shape and the hash of its bytes. */
    private static Set<String> tensors(Path file) {
        Set<String> tensors = new HashSet<>();
        try (SafeTensorsFile weights = SafeTensorsFile.open(file)) {
            for (String name : weights.names()) {
                float[] values = new float[(int) weights.shape(name).elements()];
                weights.read(name, MemorySegment.ofArray(values));
                tensors.add(name + weights.shape(name) + Arrays.hashCode(values));
            }
        }
        return tensors;
    }

    @Test
    void anOnnxFileForecastsAsTheModel() throws Exception {
        ModelDirectory model = ModelDirectory.open(run);
        ModelSpec spec = model.configuration(Map.of(), Map.of()).model();
        float[] fields = new float[(int) spec.input(2).elements()];
        for (int i = 0; i < fields.length; i++) {
            fields[i] = model.normalization().means()[i / (spec.height() * spec.width()) % spec.inChannels()]
                + (float) Math.sin(i);
        }
        OwnForward own = OwnForward.of(spec, model.normalization(), model.weights());
        float[] expected = own.run(2, fields, out.resolve("saved"));
        assertEquals("6", model.config().fields().get("lead_step_hours"));
        assertTrue(model.config().fields().get("channels").startsWith("[{\"name\":\"u10\","),
            () -> model.config().fields().get("channels"));
        Path file = out.resolve("model/model.onnx");
        for (Path source : List.of(run, run.resolve("checkpoints"))) {
            assertEquals(0, export(source, "--format=onnx"), printed::toString);
            try (OnnxSession session = new OnnxSession(file)) {
                assertTrue(own.error(session.run(spec.input(2), fields), expected) <= 1e-5, source::toString);
                assertEquals(model.config().fields(), session.properties());
            }
        }
        assertTrue(printed.toString().contains("model.onnx: vit, 3 channels, steps of 6 hours"), printed::toString);
        assertEquals(0, export(run, run, "--format=onnx"), "nothing of the source is replaced");
        Files.delete(run.resolve("model.onnx"));
    }

    @Test
    void aModelWithoutAGraphIsRefused() throws IOException {
        Path weights = Files.copy(run.resolve("model.safetensors"), out.resolve("weights.safetensors"));
        assertRefused(export(weights, "--config=tiny", "--data_dir=" + directory, "--set=architecture=patch_linear",
            "--format=onnx"), "architecture patch_linear cannot be exported to ONNX");
        assertFalse(Files.exists(out.resolve("model")));
        assertEquals(2, export(run, "--format=hdf5"));
        assertTrue(printed.toString().contains("--format"), printed::toString);
    }

    @Test
    void whatDoesNotFitIsRefused() throws IOException {
        Path weights = Files.copy(run.resolve("model.safetensors"), out.resolve("weights.safetensors"));
        assertRefused(export(weights), "name the preset of the weights with --config");
        assertRefused(export(weights, "--config=tiny", "--data_dir=" + directory), "does not fit");
        assertFalse(Files.exists(out.resolve("model/config.json")));
        assertRefused(export(run, "--config=tiny"), "leave out --config");
        assertRefused(export(run, "--set=depth=3"), "name it with --config");
        assertRefused(export(run, run), "is the directory of the source");
        assertRefused(export(out.resolve("nothing")), "there is no run, checkpoint or file of weights");
        assertRefused(export(run.resolve("logs")), "checkpoint");
        assertTrue(Files.exists(run.resolve("config.json")));
    }

    private void assertRefused(int code, String reason) {
        assertEquals(2, code, printed::toString);
        assertTrue(printed.toString().contains(reason), printed::toString);
        assertEquals(1, printed.toString().lines().count(), printed::toString);
        printed.getBuffer().setLength(0);
    }
}
