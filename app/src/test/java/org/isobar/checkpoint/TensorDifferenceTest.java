package org.isobar.checkpoint;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

import org.isobar.checkpoint.CheckpointFixtures.Cut;
import org.isobar.checkpoint.TensorDifference.Change;
import org.isobar.checkpoint.TensorDifference.Misshaped;
import org.isobar.checkpoint.safetensors.SafeTensorsFile;
import org.isobar.checkpoint.safetensors.SafeTensorsWriter;
import org.isobar.checkpoint.safetensors.SafeTensorsWriter.NamedTensor;
import org.isobar.tensor.Shape;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Compares tensors of checkpoints and files. */
class TensorDifferenceTest {
    @TempDir
    private Path directory;

    private SafeTensorsFile file(String name, NamedTensor... tensors) {
        SafeTensorsWriter.write(directory.resolve(name), List.of(tensors), Map.of());
        return SafeTensorsFile.open(directory.resolve(name));
    }

    private static NamedTensor tensor(String name, Shape shape, float... values) {
        return new NamedTensor(name, shape, memory -> MemorySegment.copy(values, 0, memory, ValueLayout.JAVA_FLOAT, 0,
            values.length));
    }

    private Change change(float[] first, float[] second) {
        try (SafeTensorsFile a = file("a", tensor("w", Shape.of(first.length), first));
            SafeTensorsFile b = file("b", tensor("w", Shape.of(second.length), second))) {
            TensorDifference difference = TensorDifference.of(a, b, name -> true);
            assertFalse(difference.isNone());
            assertEquals(1, difference.compared());
            return difference.changed().getFirst();
        }
    }

    @Test
    void slicesMakeNoDifference() {
        CheckpointFixtures.save(directory.resolve("a"), 1, Cut.ROWS, 2);
        CheckpointFixtures.save(directory.resolve("b"), 1, Cut.COLUMNS, 4);
        try (Checkpoint a = Checkpoint.open(directory.resolve("a/checkpoint-1"));
            Checkpoint b = Checkpoint.open(directory.resolve("b/checkpoint-1"))) {
            assertEquals(new TensorDifference(5, List.of(), List.of(), List.of(), List.of()),
                TensorDifference.of(a, b, name -> true));
            CheckpointMerge.write(a, CheckpointMerge.Contents.WEIGHTS, directory.resolve("merged"));
            try (SafeTensorsFile merged = SafeTensorsFile.open(directory.resolve("merged"))) {
                assertTrue(TensorDifference.of(merged, b, name -> true).isNone());
            }
        }
    }

    @Test
    void measuresDifferences() {
        assertEquals(new Change("w", Shape.of(4), 4, 2, 4, Math.sqrt(20.0 / 25)),
            change(new float[] {3, 0, 0, -4}, new float[] {1, 0, 0, 0}));
        assertEquals(new Change("w", Shape.of(1), 1, 1, 2, Double.POSITIVE_INFINITY),
            change(new float[] {0}, new float[] {2}));
    }

    @Test
    void comparesBits() {
        assertEquals(new Change("w", Shape.of(2), 2, 2, 0, 0), change(new float[] {0, -0f}, new float[] {-0f, 0}));
        assertEquals(new Change("w", Shape.of(3), 3, 1, Double.NaN, Double.NaN),
            change(new float[] {1, 2, 3}, new float[] {1, Float.NaN, 3}));
        Change beside = change(new float[] {Float.NaN, 2}, new float[] {Float.NaN, 4});
        assertEquals(1, beside.differing());
        assertEquals(2, beside.largest());
    }

    @Test
    void listsTensorsThatCannotBeCompared() {
        Shape one = Shape.of(1);
        try (SafeTensorsFile a = file("a", tensor("same", one, 1), tensor("gone", one, 1), tensor("wide", one, 1));
            SafeTensorsFile b = file("b", tensor("new", one, 1), tensor("wide", Shape.of(1, 1), 1),
                tensor("same", one, 1))) {
            TensorDifference difference = TensorDifference.of(a, b, name -> true);
            assertEquals(new TensorDifference(1, List.of(), List.of(new Misshaped("wide", one, Shape.of(1, 1))),
                List.of("gone"), List.of("new")), difference);
            assertFalse(difference.isNone());
            assertTrue(TensorDifference.of(a, b, "same"::equals).isNone());
        }
    }
}
