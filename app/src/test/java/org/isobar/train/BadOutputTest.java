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

/** Runs whose output cannot be written, and unexpected failures. /dev/full acts as a full disk. */
class BadOutputTest {
    private static final Path FULL = Path.of("/dev/full");

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
    void fullDiskWhileLogging() throws IOException {
        Files.delete(output.resolve("out.log"));
        Files.createSymbolicLink(output.resolve("out.log"), FULL);
        PreviousRunFiles.assertOneError(run(),
            List.of("cannot write log", "out.log: No space left on device", "free space"));
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
    void fullDiskWhileDrawing() throws IOException {
        Files.writeString(output.resolve("prediction.png"), "the picture before");
        Files.createSymbolicLink(output.resolve("prediction.png.tmp"), FULL);
        TinyRun run = run();
        earlier.assertIntactAfter(run, List.of("cannot write picture " + output
            + "/prediction.png: No space left on device", "free space"));
        assertEquals("the picture before", Files.readString(output.resolve("prediction.png")));
        assertEquals("Visualization, t2m @ 12", run.events().labels().getLast());
    }

    @Test
    void fullDiskWhileSavingWeights() throws IOException {
        Files.createSymbolicLink(output.resolve("model.safetensors.tmp"), FULL);
        TinyRun run = run();
        String log = earlier.assertIntactAfter(run, List.of("cannot write weights " + output
            + "/model.safetensors: No space left on device", "free space"));
        assertTrue(log.contains("  Avg val loss="), log);
        assertEquals("RMSE(u10m)/valid @ 12", run.events().labels().getLast());
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
            sound.threads(), sound.cuda(), sound.entries(), sound.unused());
        ByteArrayOutputStream screen = new ByteArrayOutputStream();
        assertEquals(1, TrainingRun.run(config, new RunContext(JobSecret.none(), Map.of(),
            Screen.plain(screen), StopRequest.NONE)));
        String log = Files.readString(output.resolve("out.log"));
        assertTrue(log.contains(" - ERROR - unexpected failure\njava.lang.ArithmeticException: / by zero\n\tat "), log);
        assertTrue(log.endsWith(screen.toString(StandardCharsets.UTF_8)), log);
        assertEquals("weights of the previous run", Files.readString(output.resolve("model.safetensors")));
    }
}
