package org.isobar.checkpoint;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

import org.isobar.checkpoint.Checkpoint.IntegrityCheck;
import org.isobar.checkpoint.Checkpoint.StoredSlice;
import org.isobar.checkpoint.CheckpointFixtures.Cut;
import org.isobar.checkpoint.CheckpointFixtures.State;
import org.isobar.checkpoint.safetensors.SafeTensorsFile;
import org.isobar.distributed.Shard;
import org.isobar.fault.UserException;
import org.isobar.tensor.Shape;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Reads checkpoints in other slices than those they were written in. */
class CheckpointTest {
    private static final int[] PARTS = {1, 2, 4};

    /** A training state with nested values. */
    private record Nested(List<Double> scores, State inner, String name) { }

    @TempDir
    private Path directory;

    static float[] read(Checkpoint checkpoint, String name, Shard shard) {
        float[] slice = new float[(int) shard.local(checkpoint.shape(name)).elements()];
        checkpoint.read(name, shard, MemorySegment.ofArray(slice));
        return slice;
    }

    static Set<String> names(Path directory) throws IOException {
        try (Stream<Path> entries = Files.list(directory)) {
            return new TreeSet<>(entries.map(path -> path.getFileName().toString()).toList());
        }
    }

    /** Rank 0 has checked all files; another rank looks only at those that it reads. */
    @Test
    void onlyTheFilesThatAreReadAreExamined() throws IOException {
        CheckpointFixtures.save(directory, 3, Cut.ROWS, 4);
        Path path = directory.resolve("checkpoint-3");
        Files.delete(path.resolve("rank-00002.safetensors"));
        Files.write(path.resolve("rank-00003.safetensors"), new byte[] {1});
        assertThrows(UserException.class, () -> Checkpoint.open(path));
        Shape large = CheckpointFixtures.shapes().get("large");
        try (Checkpoint checkpoint = Checkpoint.openChecked(path)) {
            for (int index = 0; index < 2; index++) {
                Shard shard = CheckpointFixtures.shard(large, Cut.ROWS, 4, index);
                assertArrayEquals(CheckpointFixtures.slice("large", large, shard), read(checkpoint, "large", shard));
            }
            assertTrue(assertThrows(UserException.class, () -> read(checkpoint, "large",
                CheckpointFixtures.shard(large, Cut.ROWS, 4, 2))).getMessage().contains("rank-00002.safetensors"));
            assertTrue(assertThrows(UserException.class, () -> read(checkpoint, "large",
                CheckpointFixtures.shard(large, Cut.ROWS, 4, 3))).getMessage().contains("it ends after 1 bytes"));
        }
    }

    @ParameterizedTest
    @CsvSource({"WHOLE, 1", "WHOLE, 2", "WHOLE, 4", "ROWS, 1", "ROWS, 2", "ROWS, 4", "COLUMNS, 1", "COLUMNS, 2",
        "COLUMNS, 4"})
    void slicesAreReadWhateverSlicesWereWritten(Cut written, int ranks) throws IOException {
        Path path = directory.resolve("checkpoint-12");
        for (SaveResult result : CheckpointFixtures.save(directory, 12, written, ranks)) {
            assertEquals(new SaveResult.Done(path), result);
        }
        assertEquals(Set.of("checkpoint-12"), names(directory));
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertEquals(List.of(), checkpoint.verify());
            assertEquals(CheckpointFixtures.shapes().keySet(), Set.copyOf(checkpoint.names()));
            for (Cut read : Cut.values()) {
                for (int parts : PARTS) {
                    assertReads(checkpoint, read, parts);
                }
            }
        }
    }

    private static void assertReads(Checkpoint checkpoint, Cut cut, int parts) {
        CheckpointFixtures.shapes().forEach((name, shape) -> {
            assertEquals(shape, checkpoint.shape(name));
            for (int index = 0; index < parts; index++) {
                Shard shard = CheckpointFixtures.shard(shape, cut, parts, index);
                assertArrayEquals(CheckpointFixtures.slice(name, shape, shard), read(checkpoint, name, shard), name
                    + shard);
            }
        });
    }

    /** There are more files than are kept open at a time. */
    @Test
    void readsATensorFromManyFiles() {
        int ranks = 20;
        Shape shape = Shape.of(3, ranks);
        assertEquals(Collections.nCopies(ranks, new SaveResult.Done(directory.resolve("checkpoint-1"))),
            CheckpointFixtures.together(CheckpointFixtures.writers(directory, ranks).stream().map(writer ->
                (CheckpointFixtures.Save) () -> writer.write(1, List.of(CheckpointFixtures.piece("w", shape,
                    new Shard(1, ranks, writer.rank())),
                    CheckpointFixtures.piece("v" + writer.rank(), shape, Shard.whole())),
                    CheckpointFixtures.METADATA)).toList()));
        try (Checkpoint checkpoint = Checkpoint.open(directory.resolve("checkpoint-1"))) {
            for (String name : checkpoint.names()) {
                for (Shard shard : List.of(Shard.whole(), new Shard(0, 3, 1), new Shard(1, 5, 4))) {
                    assertArrayEquals(CheckpointFixtures.slice(name, shape, shard), read(checkpoint, name, shard));
                }
            }
        }
    }

    @Test
    void returnsStateAndConfiguration() {
        try (Checkpoint checkpoint = Checkpoint.open(CheckpointFixtures.save(directory, 5))) {
            assertEquals(5, checkpoint.iteration());
            assertEquals(new State(3, 0.1, Double.NaN), checkpoint.state(State.class, Map.of()));
            assertEquals(Map.of("epoch", "3", "loss", "0.1", "best", "NaN"), checkpoint.state());
            assertEquals(Map.of("seed", "7"), checkpoint.configuration());
            assertEquals(List.of(new StoredSlice("rank-00000.safetensors", Shard.whole())), checkpoint.slices("bias"));
            assertEquals(Set.of("rank-00000.safetensors"), checkpoint.files().keySet());
            assertTrue(assertThrows(UserException.class, () -> checkpoint.state(Shard.class, Map.of())).getMessage()
                .contains("this program cannot read its training state"));
            assertEquals("no tensor wieght in " + checkpoint.path() + "; give a checkpoint of the configured model",
                assertThrows(UserException.class, () -> checkpoint.shape("wieght")).getMessage());
            assertThrows(IllegalArgumentException.class, () -> checkpoint.read("bias", Shard.whole(),
                MemorySegment.ofArray(new float[7])));
        }
    }

    /** The state may contain objects and lists; entries keep their order. */
    @Test
    void returnsTheStateAsText() {
        Map<String, String> configuration = new LinkedHashMap<>();
        for (String key : List.of("zeta", "alpha", "mu", "beta", "omega")) {
            configuration.put(key, "1");
        }
        CheckpointFixtures.writer(directory).write(4, List.of(), new CheckpointMetadata(configuration,
            new Nested(List.of(0.5, 1e-9), new State(1, 0.25, Double.NEGATIVE_INFINITY), "run")));
        try (Checkpoint checkpoint = Checkpoint.open(directory.resolve("checkpoint-4"))) {
            assertEquals("{scores=[0.5,1.0E-9], inner.epoch=1, inner.loss=0.25, inner.best=-Infinity, name=run}",
                checkpoint.state().toString());
            assertEquals(List.copyOf(configuration.keySet()), List.copyOf(checkpoint.configuration().keySet()));
        }
    }

    @Test
    void aRankWithNothingToWriteHasNoFile() throws IOException {
        List<CheckpointWriter> writers = CheckpointFixtures.writers(directory, 2);
        List<SaveResult> results = CheckpointFixtures.together(List.of(
            () -> writers.getFirst().write(1, List.of(), CheckpointFixtures.METADATA),
            () -> writers.getLast().write(1, CheckpointFixtures.pieces(Cut.WHOLE, 1, 0), CheckpointFixtures.METADATA)));
        Path path = directory.resolve("checkpoint-1");
        assertEquals(List.of(new SaveResult.Done(path), new SaveResult.Done(path)), results);
        assertEquals(Set.of("checkpoint.json", "rank-00001.safetensors"), names(path));
    }

    @Test
    void aShardIsASafetensorsFile() {
        CheckpointFixtures.save(directory, 1, Cut.ROWS, 2);
        try (SafeTensorsFile shard = SafeTensorsFile.open(directory.resolve("checkpoint-1/rank-00001.safetensors"))) {
            assertEquals(Map.of("format", "pt"), shard.metadata());
            assertEquals(Shape.of(4, 12), shard.shape("weight"));
            float[] weight = new float[48];
            shard.read("weight", MemorySegment.ofArray(weight));
            assertArrayEquals(CheckpointFixtures.slice("weight", Shape.of(8, 12), new Shard(0, 2, 1)), weight);
        }
    }

    @Test
    void findsTheNewestUndamagedCheckpoint() throws IOException {
        assertTrue(Checkpoint.newest(directory.resolve("none"), IntegrityCheck.SIZES, text -> { }).isEmpty());
        CheckpointFixtures.save(directory, 9);
        Path tenth = CheckpointFixtures.save(directory, 10);
        Path eleventh = CheckpointFixtures.save(directory, 11);
        Files.delete(eleventh.resolve("checkpoint.json"));
        byte[] bytes = Files.readAllBytes(tenth.resolve("rank-00000.safetensors"));
        bytes[bytes.length - 1] ^= 1;
        Files.write(tenth.resolve("rank-00000.safetensors"), bytes);
        Files.createDirectory(directory.resolve("checkpoint-007"));
        Files.createDirectory(directory.resolve(".checkpoint-99.tmp"));
        Files.createFile(directory.resolve("checkpoint-50"));
        assertEquals(10, newest(IntegrityCheck.SIZES, List.of(eleventh)));
        assertEquals(9, newest(IntegrityCheck.CHECKSUMS, List.of(eleventh, tenth)));
    }

    private long newest(IntegrityCheck check, List<Path> expectedSkipped) {
        List<String> skipped = new ArrayList<>();
        try (Checkpoint checkpoint = Checkpoint.newest(directory, check, skipped::add).orElseThrow()) {
            assertEquals(expectedSkipped.size(), skipped.size(), skipped.toString());
            for (int i = 0; i < skipped.size(); i++) {
                assertTrue(skipped.get(i).startsWith("checkpoint " + expectedSkipped.get(i) + " cannot be used: "),
                    skipped.get(i));
            }
            return checkpoint.iteration();
        }
    }
}
