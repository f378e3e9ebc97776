package org.isobar.train;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

import org.isobar.config.RunConfig;
import org.isobar.distributed.job.JobSecret;
import org.isobar.telemetry.Screen;
import org.isobar.train.saving.StopRequest;
import org.isobar.vit.VitConfig;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Runs whose output cannot be written, and unexpected failures. */
class BadOutputTest {
    @TempDir
    private static Path data;
    @TempDir
    private Path directory;
    private PreviousRunFiles earlier;
    private Path output;

    @BeforeAll
    static void synthesize() {
        TinyRun.synthesize(data);
    }

    @BeforeEach
    void setUp() throws IOException {
        earlier = PreviousRunFiles.in(directory.resolve("logs"));
        output = TinyRun.directory(earlier.logs());
    }

    private TinyRun run() {
        return TinyRun.of(data, earlier.logs(), "num_iters=12");
    }

    @Test
    void expdirBelowAFileIsRefused() throws IOException {
        Path file = Files.writeString(directory.resolve("file"), "mine");
        PreviousRunFiles.assertOneError(TinyRun.of(data, file.resolve("logs")),
            List.of("cannot write lock " + TinyRun.directory(file.resolve("logs")), "--expdir"));
        assertEquals("mine", Files.readString(file));
    }

    @Test
    void linkInPlaceOfTheLog() throws IOException {
        Path log = Files.move(output.resolve("out.log"), output.resolve("elsewhere.log"));
        String before = Files.readString(log);
        Files.createSymbolicLink(output.resolve("out.log"), log);
        PreviousRunFiles.assertOneError(run(),
            List.of("cannot write log", "out.log: a symbolic link, which is not followed", "fix the permissions"));
        assertEquals(before, Files.readString(log));
        Files.delete(output.resolve("out.log"));
    }

    @Test
    void fileInPlaceOfTheEventDirectory() throws IOException {
        Files.writeString(output.resolve("logs"), "mine");
        String log = earlier.assertIntactAfter(run(), List.of("cannot write TensorBoard events to " + output
            + "/logs: File exists", "free space"));
        assertFalse(log.contains("Starting Training Loop"), log);
        assertEquals("mine", Files.readString(output.resolve("logs")));
    }

    @Test
    void directoryInPlaceOfThePicture() throws IOException {
        Files.createDirectories(output.resolve("prediction.png/mine"));
        TinyRun run = run();
        earlier.assertIntactAfter(run, List.of("cannot write picture " + output
            + "/prediction.png: Is a directory", "choose another directory"));
        assertEquals("Visualization, t2m @ 12", run.events().labels().getLast());
    }

    /** Another user who can write the directory expects a certain temporary name and puts a link there. */
    @Test
    void linksWithTemporaryNamesAreNotFollowed() throws IOException {
        Path victim = Files.writeString(directory.resolve("victim"), "mine");
        for (String name : List.of("prediction.png", "model.safetensors")) {
            Files.createSymbolicLink(output.resolve(name + ".tmp"), victim);
            Files.createSymbolicLink(output.resolve(name + ".0123456789abcdef.tmp"), victim);
        }
        TinyRun run = run();
        assertEquals(0, run.code(), run.screen());
        assertEquals("mine", Files.readString(victim));
        assertFalse(Files.isSymbolicLink(run.weights()));
    }

    @Test
    void directoryInPlaceOfTheWeights() throws IOException {
        Files.delete(output.resolve("model.safetensors"));
        Files.createDirectories(output.resolve("model.safetensors/mine"));
        TinyRun run = run();
        PreviousRunFiles.assertOneError(run, List.of("cannot write weights " + output
            + "/model.safetensors: Is a directory", "choose another directory"));
        assertTrue(run.screen().contains("  Avg val loss="), run.screen());
        assertEquals("RMSE(t2m)/valid @ 12", run.events().labels().getLast());
    }

    /** A model that the configuration loader would refuse violates an invariant, which is a bug. */
    @Test
    void unexpectedFailureLogsItsStackTrace() throws IOException {
        RunConfig sound = TinyRun.config(data, earlier.logs());
        VitConfig model = (VitConfig) sound.model();
        VitConfig broken = new VitConfig(model.height(), model.width(), 0, model.inChannels(), model.outChannels(),
            model.embed(), model.depth(), model.heads(), model.hidden(), 0);
        RunConfig config = new RunConfig(sound.name(), sound.yamlFile(), broken, sound.training(), sound.data(),
            sound.parallel(), sound.ranks(), sound.grid(), sound.output(), sound.checkpoint(), sound.device(),
            sound.threads(), sound.cuda(), sound.attention(), sound.products(), sound.entries(),
            sound.unused());
        ByteArrayOutputStream screen = new ByteArrayOutputStream();
        assertEquals(1, TrainingRun.run(config, new RunContext(JobSecret.none(), Map.of(),
            Screen.plain(screen), StopRequest.NONE)));
        String log = Files.readString(output.resolve("out.log"));
        assertTrue(log.contains(" - ERROR - unexpected failure\njava.lang.ArithmeticException: / by zero\n\tat "), log);
        assertTrue(log.endsWith(screen.toString(StandardCharsets.UTF_8)), log);
        assertEquals("weights of the previous run", Files.readString(output.resolve("model.safetensors")));
    }
}
