package org.isobar.train.saving;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

import org.isobar.train.PreviousRunFiles;
import org.isobar.train.TinyRun;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests paths for resuming and for output: relative paths, links, names with spaces and non-ASCII letters. */
class ResumePathTest {
    private static final String TWO_EPOCHS = "num_iters=24";

    @TempDir
    private static Path data;
    private static TinyRun whole;
    @TempDir
    private Path directory;

    @BeforeAll
    static void train() throws IOException {
        TinyRun.synthesize(data);
        whole = TinyRun.of(data, data.resolve("logs"), TWO_EPOCHS).succeeded();
    }

    private static Path half() {
        return whole.directory().resolve("checkpoints/checkpoint-12");
    }

    private static void assertResumes(TinyRun resumed, Path from) throws IOException {
        resumed.succeeded();
        assertTrue(resumed.screen().contains("Resuming after iteration 12 from " + from), resumed.screen());
        assertArrayEquals(Files.readAllBytes(whole.weights()), Files.readAllBytes(resumed.weights()));
        assertEquals(List.of("checkpoint-12", "checkpoint-24"),
            DirectoryTree.names(resumed.directory().resolve("checkpoints")));
    }

    @Test
    void relativePaths() throws IOException {
        Path here = Path.of("").toAbsolutePath();
        Path from = here.relativize(half());
        assertResumes(TinyRun.of(data, here.relativize(directory), TWO_EPOCHS, "resume=" + from), from);
    }

    /** A link to a checkpoint, with another name. */
    @Test
    void link() throws IOException {
        Path link = Files.createSymbolicLink(directory.resolve("best"), half());
        assertResumes(TinyRun.of(data, directory.resolve("logs"), TWO_EPOCHS, "resume=" + link), link);
        CheckpointAssertions.assertIntact(half());
    }

    /** A link among the checkpoints of the run is followed, and the run does not delete its target. */
    @Test
    void linkInPlaceOfACheckpoint() throws IOException {
        Path checkpoints = Files.createDirectories(TinyRun.directory(directory).resolve("checkpoints"));
        Path link = Files.createSymbolicLink(checkpoints.resolve("checkpoint-12"), half());
        assertResumes(TinyRun.of(data, directory, TWO_EPOCHS, "resume=auto"), link);
        CheckpointAssertions.assertIntact(half());
    }

    @Test
    void spacesAndNonAsciiLetters() throws IOException {
        Assumptions.assumeTrue("UTF-8".equals(System.getProperty("sun.jnu.encoding")), "names of files are ASCII here");
        Path logs = directory.resolve("runs of Übung 3, ∂u");
        TinyRun own = TinyRun.of(data, logs, TWO_EPOCHS).succeeded();
        Path from = own.directory().resolve("checkpoints/checkpoint-12");
        TinyRun resumed = TinyRun.of(data, logs, TWO_EPOCHS, "resume=" + from);
        assertTrue(resumed.succeeded().log().contains("Resuming after iteration 12 from " + from), resumed.log());
        assertArrayEquals(Files.readAllBytes(whole.weights()), Files.readAllBytes(resumed.weights()));
    }

    @Test
    void spacesAlone() throws IOException {
        Path logs = directory.resolve("my runs/ the first");
        Path from = logs.resolve("a  checkpoint");
        DirectoryTree.copy(half(), from);
        assertResumes(TinyRun.of(data, logs, TWO_EPOCHS, "resume=" + from), from);
    }

    @Test
    void missingCheckpoint() throws IOException {
        PreviousRunFiles earlier = PreviousRunFiles.in(directory);
        Path none = directory.resolve("none");
        TinyRun refused = TinyRun.of(data, directory, TWO_EPOCHS, "resume=" + none);
        PreviousRunFiles.assertOneError(refused, List.of("cannot read checkpoint " + none + ": No such file"));
        assertEquals("a line of the previous run\n", Files.readString(TinyRun.directory(earlier.logs())
            .resolve("out.log")));
    }
}
