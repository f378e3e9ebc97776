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
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import org.isobar.checkpoint.CheckpointFixtures.Cut;
import org.isobar.checkpoint.CheckpointMerge.Contents;
import org.isobar.checkpoint.safetensors.SafeTensorsFile;
import org.isobar.distributed.Shard;
import org.isobar.fault.UserException;
import org.isobar.tensor.Shape;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Merged slices are equal to the original tensors. */
class CheckpointMergeTest {
    @TempDir
    private Path directory;

    private Path merge(Path path, Contents contents, String name) {
        Path output = directory.resolve(name);
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            CheckpointMerge.write(checkpoint, contents, output);
        }
        return output;
    }

    private String refused(Path path, Path output) {
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            return assertThrows(UserException.class, () -> CheckpointMerge.write(checkpoint, Contents.WEIGHTS, output))
                .getMessage();
        }
    }

    @Test
    void slicesDoNotChangeTheFile() throws IOException {
        byte[] expected = null;
        for (Cut cut : Cut.values()) {
            for (int ranks : new int[] {1, 2, 4}) {
                CheckpointFixtures.save(directory, 1, cut, ranks);
                byte[] merged = Files.readAllBytes(
                    merge(directory.resolve("checkpoint-1"), Contents.WEIGHTS, "model.safetensors"));
                expected = expected == null ? merged : expected;
                assertArrayEquals(expected, merged, cut + " " + ranks);
            }
        }
        try (SafeTensorsFile tensors = SafeTensorsFile.open(directory.resolve("model.safetensors"))) {
            assertEquals(List.of("bias", "cube", "large", "scalar", "weight"), tensors.names());
            assertEquals(Map.of("format", "pt"), tensors.metadata());
            CheckpointFixtures.shapes().forEach((name, shape) -> {
                float[] values = new float[(int) shape.elements()];
                tensors.read(name, MemorySegment.ofArray(values));
                assertEquals(shape, tensors.shape(name));
                assertArrayEquals(CheckpointFixtures.slice(name, shape, Shard.whole()), values, name);
            });
        }
    }

    @Test
    void momentsAreOptional() {
        Shape shape = Shape.of(4, 2);
        List<String> names = List.of("w", TensorSlice.firstMoment("w"), TensorSlice.secondMoment("w"));
        CheckpointFixtures.together(CheckpointFixtures.writers(directory, 2).stream()
            .map(writer -> (CheckpointFixtures.Save) () -> writer.write(1, names.stream()
                .map(name -> CheckpointFixtures.piece(name, shape, new Shard(0, 2, writer.rank()))).toList(),
                CheckpointFixtures.METADATA)).toList());
        Path path = directory.resolve("checkpoint-1");
        try (SafeTensorsFile weights = SafeTensorsFile.open(merge(path, Contents.WEIGHTS, "weights"));
            SafeTensorsFile all = SafeTensorsFile.open(merge(path, Contents.WEIGHTS_AND_MOMENTS, "all"))) {
            assertEquals(List.of("w"), weights.names());
            assertEquals(List.of("exp_avg.w", "exp_avg_sq.w", "w"), all.names());
            float[] moment = new float[8];
            all.read("exp_avg_sq.w", MemorySegment.ofArray(moment));
            assertArrayEquals(CheckpointFixtures.slice("exp_avg_sq.w", shape, Shard.whole()), moment);
        }
    }

    @Test
    void aDamagedBlockKeepsTheOldFile() throws IOException {
        Path path = CheckpointFixtures.save(directory, 1);
        Path output = merge(path, Contents.WEIGHTS, "model.safetensors");
        byte[] before = Files.readAllBytes(output);
        Damage.flip(path.resolve("rank-00000.safetensors"), 38_000_000);
        assertTrue(refused(path, output).contains("rank-00000.safetensors: bytes 4194304 to "));
        assertArrayEquals(before, Files.readAllBytes(output));
        List<Path> left = new ArrayList<>();
        try (Stream<Path> entries = Files.list(directory)) {
            entries.forEach(left::add);
        }
        assertEquals(2, left.size(), left::toString);
    }

    @Test
    void refusesUnwritablePaths() throws IOException {
        Path path = CheckpointFixtures.save(directory, 1);
        Path shard = path.resolve("rank-00000.safetensors");
        assertEquals("--output " + shard + " is inside the checkpoint; give another directory",
            refused(path, shard));
        Path link = Files.createSymbolicLink(directory.resolve("link"), path);
        assertTrue(refused(path, link.resolve("new")).contains("is inside the checkpoint"));
        assertEquals("--output " + directory + " is a directory; give the name of a file", refused(path, directory));
        Path beneath = Files.createFile(directory.resolve("file")).resolve("model.safetensors");
        assertTrue(refused(path, beneath).startsWith("cannot write weights " + beneath + ": "));
        assertTrue(refused(path, beneath).contains("or choose another directory with --output"));
        try (Checkpoint checkpoint = Checkpoint.open(path)) {
            assertEquals(List.of(), checkpoint.verify());
        }
    }
}
