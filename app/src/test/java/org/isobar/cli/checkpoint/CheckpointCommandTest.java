package org.isobar.cli.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import org.isobar.checkpoint.CheckpointFixtures;
import org.isobar.checkpoint.CheckpointFixtures.Cut;
import org.isobar.checkpoint.CheckpointMetadata;
import org.isobar.checkpoint.CheckpointWriter;
import org.isobar.checkpoint.Damage;
import org.isobar.checkpoint.SaveResult;
import org.isobar.checkpoint.TensorSlice;
import org.isobar.cli.Main;
import org.isobar.cli.options.ProgramContext;
import org.isobar.distributed.RankMessages;
import org.isobar.distributed.Shard;
import org.isobar.tensor.Shape;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What {@code isobar checkpoint} prints of a run's checkpoints, and with which code it exits. */
class CheckpointCommandTest {
    private static final String SHARD = "rank-00001.safetensors";

    @TempDir
    private Path run;
    private Path ninth;
    private Path tenth;
    private String out;
    private String err;

    @BeforeEach
    void save() {
        Path checkpoints = run.resolve("checkpoints");
        CheckpointFixtures.save(checkpoints, 9, Cut.ROWS, 2);
        CheckpointFixtures.save(checkpoints, 10, Cut.ROWS, 2);
        ninth = checkpoints.resolve("checkpoint-9");
        tenth = checkpoints.resolve("checkpoint-10");
    }

    private int checkpoint(Object... arguments) {
        String[] line = new String[arguments.length + 1];
        line[0] = "checkpoint";
        for (int i = 0; i < arguments.length; i++) {
            line[i + 1] = arguments[i].toString();
        }
        StringWriter stdout = new StringWriter();
        StringWriter stderr = new StringWriter();
        int code = Main.execute(Main.commandLine(new ProgramContext(Path.of(".."), Map.of()))
            .setOut(new PrintWriter(stdout, true)).setErr(new PrintWriter(stderr, true)), line);
        out = stdout.toString();
        err = stderr.toString();
        return code;
    }

    private void assertRefused(String message, Object... arguments) {
        assertEquals(2, checkpoint(arguments), () -> out + err);
        assertEquals("isobar: " + message + "\n", err);
        assertEquals("", out);
    }

    private void assertPrints(String line) {
        String cells = Pattern.quote(line).replaceAll("  +", "\\\\E +\\\\Q");
        assertTrue(Pattern.compile("^ *" + cells + "$", Pattern.MULTILINE).matcher(out).find(), line + " in\n" + out);
    }

    private static String unusable(Path path, String reason) {
        return "checkpoint " + path + " cannot be used: " + reason + "; give another one";
    }

    @Test
    void inspectTellsWhatIsInIt() {
        assertEquals(0, checkpoint("inspect", run));
        assertPrints("Checkpoint  " + tenth);
        assertPrints("Iteration  10");
        assertPrints("Files  2 files, 4.80 MB");
        assertPrints("Weights  1,200,201 numbers in 5 tensors, 4.80 MB");
        assertPrints("Moments  none");
        assertPrints("Layout  4 in 2 slices along dimension 0, 1 whole");
        assertPrints("epoch  3");
        assertPrints("best  NaN");
        assertPrints("seed  7");
        assertFalse(out.contains("cube"), out);
        assertEquals("", err);
    }

    @Test
    void inspectListsTensorsIfAsked() {
        assertEquals(0, checkpoint("inspect", "--tensors", ninth));
        assertPrints("Iteration  9");
        assertPrints("name  shape  bytes  slices");
        assertPrints("weight  [8, 12]  384  in 2 slices along dimension 0");
        assertPrints("scalar  []  4  whole");
        assertTrue(Pattern.compile(SHARD + " +24\\d{5}\n").matcher(out).find(), out);
    }

    @Test
    void whatIsSkippedIsNamed() throws IOException {
        Files.delete(tenth.resolve("checkpoint.json"));
        assertEquals(0, checkpoint("inspect", run));
        assertPrints("Iteration  9");
        assertEquals("isobar: skipped: " + unusable(tenth,
            "it is incomplete, or not an Isobar checkpoint: it has no checkpoint.json") + "\n", err);
    }

    @Test
    void verifyReadsThemAll() {
        assertEquals(0, checkpoint("verify", run));
        assertEquals("""
            checkpoint %s is sound: 2 files, 4.80 MB
            checkpoint %s is sound: 2 files, 4.80 MB
            """.formatted(tenth, ninth), out);
        assertEquals("", err);
    }

    @Test
    void aFlippedBitInAShard() throws IOException {
        Damage.flip(tenth.resolve(SHARD), 400_000);
        assertEquals(2, checkpoint("verify", run));
        assertEquals("isobar: checkpoint " + tenth + " is damaged: " + SHARD
            + ": bytes 0 to 1048575 are damaged; use another one\n", err);
        assertEquals("checkpoint " + ninth + " is sound: 2 files, 4.80 MB\n", out);
        assertEquals(0, checkpoint("verify", ninth));

        Path output = run.resolve("model.safetensors");
        assertEquals(0, checkpoint("merge", run, "--output", output));
        assertTrue(err.startsWith("isobar: skipped: checkpoint " + tenth), err);
        assertEquals("Wrote " + output + ", 4.80 MB, of checkpoint " + ninth + ".\n", out);
        assertRefused(unusable(tenth, SHARD + ": bytes 0 to 1048575 are damaged"),
            "merge", tenth, "--output", output);
    }

    @Test
    void severalPathsAndBlocks() throws IOException {
        Path path = CheckpointFixtures.save(run.resolve("spoiled"), 1);
        for (int block = 0; block < 5; block++) {
            Damage.flip(path.resolve("rank-00000.safetensors"), (block << 23) + 50_000);
        }
        Path sound = CheckpointFixtures.save(run.resolve("sound"), 1);
        Path none = run.resolve("none");
        assertEquals(2, checkpoint("verify", none, path, sound));
        assertTrue(err.startsWith("isobar: cannot read checkpoint " + none + ": "), err);
        assertEquals(3, Pattern.compile("are damaged").matcher(err).results().count(), err);
        assertTrue(err.endsWith("are damaged; and 2 more; use another one\n"), err);
        assertEquals("checkpoint " + sound + " is sound: 1 file, 4.80 MB\n", out);
    }

    @Test
    void aFlippedBitInAManifest() throws IOException {
        Damage.flip(tenth.resolve("checkpoint.json"), 1000);
        for (String command : new String[] {"verify", "inspect"}) {
            assertRefused(unusable(tenth, "checkpoint.json is damaged: its checksum does not match"),
                command, tenth);
        }
    }

    @Test
    void aMissingFile() throws IOException {
        Files.delete(tenth.resolve(SHARD));
        assertRefused(unusable(tenth, SHARD + " is missing"), "verify", tenth);
        assertEquals(2, checkpoint("verify", run));
        assertTrue(out.contains(ninth + " is sound"), out);
    }

    @Test
    void aLaterVersion() throws IOException {
        Damage.rewrite(tenth, "\"version\" : 1", "\"version\" : 2");
        assertRefused(unusable(tenth, "it has format version 2, and this program reads versions up to 1: it needs a "
            + "newer Isobar"), "inspect", tenth);
    }

    @Test
    void whatIsNoCheckpoint() throws IOException {
        Path none = run.resolve("none");
        Path empty = Files.createDirectory(run.resolve("empty"));
        for (String command : new String[] {"verify", "inspect"}) {
            assertRefused("cannot read checkpoint " + none + ": No such file or directory; check the path and its "
                + "permissions", command, none);
            assertRefused(unusable(empty, "it is incomplete, or not an Isobar checkpoint: it has no checkpoint.json"),
                command, empty);
        }
        assertRefused("cannot read checkpoint " + none + ": No such file or directory; check the path and its "
            + "permissions", "diff", run, none);
    }

    @Test
    void diffOfEqualOnes() {
        Path output = run.resolve("model.safetensors");
        assertEquals(0, checkpoint("merge", ninth, "--output", output));
        assertEquals(0, checkpoint("diff", run, ninth));
        assertEquals("""
            A  %s, iteration 10
            B  %s, iteration 9

            Bit-identical: all tensors, 5 of them.
            """.formatted(tenth, ninth), out);
        assertEquals(0, checkpoint("diff", output, run));
    }

    @Test
    void diffOfOthers() throws IOException {
        Path output = run.resolve("model.safetensors");
        assertEquals(0, checkpoint("merge", ninth, "--output", output));
        Damage.flip(output, Files.size(output) * Byte.SIZE - 1); // the sign of the last weight, -171 + 95
        assertEquals(1, checkpoint("diff", ninth, output));
        assertTrue(out.contains("||A - B|| / ||A||"), out);
        assertTrue(Pattern.compile("^  weight +\\[8, 12\\] +1 of 96 +\\d\\.\\d{3}e\\+\\d\\d +\\d\\.\\d{3}e[+-]\\d\\d$",
            Pattern.MULTILINE).matcher(out).find(), out);
        assertTrue(out.endsWith("Different: 1 of 5 tensors that can be compared.\n"), out);
        assertEquals("", err);
    }

    @Test
    void momentsCountUnlessTheyAreLeftOut() {
        List<TensorSlice> pieces = Stream.of("w", TensorSlice.firstMoment("w"), TensorSlice.secondMoment("w"))
            .map(name -> new TensorSlice(name, Shape.of(3), Shard.whole(), memory -> memory.fill((byte) 1))).toList();
        Path path = run.resolve("checkpoint-1");
        assertEquals(new SaveResult.Done(path), new CheckpointWriter(run, "this run", 0, RankMessages.ALONE,
            Duration.ofSeconds(20))
            .write(1, pieces, new CheckpointMetadata(Map.of(), Map.of())));
        Path weights = run.resolve("weights.safetensors");
        Path all = run.resolve("all.safetensors");
        assertEquals(0, checkpoint("merge", path, "--output", weights));
        assertEquals(0, checkpoint("merge", "--optimizer", path, "--output", all));
        assertEquals(0, checkpoint("diff", path, all));
        assertEquals(1, checkpoint("diff", path, weights));
        assertTrue(out.contains("Tensors only in A\n  exp_avg.w\n  exp_avg_sq.w\n"), out);
        assertTrue(out.endsWith("Different: 0 of 1 tensors that can be compared, and 2 that cannot.\n"), out);
        assertEquals(0, checkpoint("diff", "--weights", path, weights));
        assertEquals(0, checkpoint("inspect", path));
        assertPrints("Weights  3 numbers in 1 tensor, 12 bytes");
        assertPrints("Moments  6 numbers in 2 tensors, 24 bytes");
    }

    @Test
    void diffOfConfigurationAndState() throws IOException {
        Damage.rewrite(tenth, "\"seed\" : \"7\"", "\"seed\" : \"8\", \"lr\" : \"0.1\"");
        Damage.rewrite(tenth, "\"epoch\" : 3", "\"epoch\" : 4");
        assertEquals(0, checkpoint("diff", ninth, tenth));
        assertTrue(out.contains("\nConfiguration that differs\n"), out);
        assertPrints("seed  7  8");
        assertPrints("lr  (none)  0.1");
        assertTrue(out.contains("\nState that differs\n"), out);
        assertPrints("epoch  3  4");
        assertTrue(out.endsWith("\nBit-identical: all tensors, 5 of them.\n"), out);
    }

    @Test
    void whereNothingCanBeWritten() {
        Path output = ninth.resolve("checkpoint.json").resolve("model.safetensors");
        assertEquals(2, checkpoint("merge", run, "--output", output));
        assertTrue(err.startsWith("isobar: cannot write weights " + output + ": "), err);
        assertEquals(2, checkpoint("merge", run));
        assertTrue(err.contains("Missing required option: '--output=FILE'"), err);
    }

    @ParameterizedTest
    @ValueSource(strings = {"inspect --help", "verify --help", "merge --help", "diff --help"})
    void help(String line) {
        assertEquals(0, checkpoint((Object[]) line.split(" ")));
        assertTrue(out.startsWith("Usage: isobar checkpoint"), out);
        assertTrue(out.replaceAll("\\s+", " ").contains("A checkpoint, a directory of checkpoints or a run's "
            + "directory; "), out);
    }

    @Test
    void withoutACommand() {
        assertEquals(0, checkpoint("--help"));
        assertTrue(out.startsWith("Usage: isobar checkpoint [-hV] COMMAND"), out);
        assertEquals(2, checkpoint());
        assertTrue(err.contains("Name a command: inspect, verify, merge, diff"), err);
    }
}
