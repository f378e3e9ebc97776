package org.isobar.checkpoint.safetensors;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import org.isobar.checkpoint.SafeTensorsFiles;
import org.isobar.checkpoint.safetensors.SafeTensorsWriter.NamedTensor;
import org.isobar.fault.UserException;
import org.isobar.tensor.Shape;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Files read back bit for bit; types and order of other writers are supported; failed writes leave no files. */
class SafeTensorsFileTest {
    @TempDir
    private Path directory;

    private static NamedTensor tensor(String name, float[] values, long... extents) {
        return new NamedTensor(name, Shape.of(extents),
            memory -> memory.copyFrom(MemorySegment.ofArray(values)));
    }

    private static float[] read(SafeTensorsFile weights, String name) {
        float[] values = new float[(int) weights.shape(name).elements()];
        weights.read(name, MemorySegment.ofArray(values));
        return values;
    }

    @Test
    void readsBackWhatWasWritten() {
        Path path = directory.resolve("model.safetensors");
        float[] weight = {1, -2.5f, Float.MIN_VALUE, Float.MAX_VALUE, -0f, Float.NEGATIVE_INFINITY};
        float[] bias = {Float.intBitsToFloat(0x7FC01234)};
        SafeTensorsWriter.write(path,
            List.of(tensor("z.weight", weight, 2, 3), tensor("a.bias", bias, 1), tensor("größe", bias)),
            Map.of("format", "pt"));
        try (SafeTensorsFile weights = SafeTensorsFile.open(path)) {
            assertEquals(List.of("z.weight", "a.bias", "größe"), weights.names());
            assertEquals(Map.of("format", "pt"), weights.metadata());
            assertEquals(Shape.of(2, 3), weights.shape("z.weight"));
            assertEquals(Shape.of(), weights.shape("größe"));
            assertArrayEquals(weight, read(weights, "z.weight"));
            assertEquals(0x7FC01234, Float.floatToRawIntBits(read(weights, "a.bias")[0]), "a NaN keeps its bits");
        }
    }

    @Test
    void writesTheFormatToTheByte() throws IOException {
        Path path = directory.resolve("one.safetensors");
        SafeTensorsWriter.write(path, List.of(tensor("b", new float[] {1, 2}, 2)), Map.of());
        String json = "{\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}";
        String padded = json + " ".repeat((8 - json.length() % 8) % 8);
        ByteBuffer expected = ByteBuffer.allocate(8 + padded.length() + 8).order(ByteOrder.LITTLE_ENDIAN)
            .putLong(padded.length()).put(padded.getBytes(StandardCharsets.UTF_8)).putFloat(1).putFloat(2);
        assertArrayEquals(expected.array(), Files.readAllBytes(path));
        assertEquals(0, (8 + padded.length()) % 8, "the data is aligned");
    }

    @Test
    void writesTensorsLargerThanItsBuffer() {
        Path path = directory.resolve("large.safetensors");
        long elements = 700_001;
        try (Arena arena = Arena.ofConfined()) {
            MemorySegment values = arena.allocate(ValueLayout.JAVA_FLOAT, elements);
            for (long i = 0; i < elements; i++) {
                values.setAtIndex(ValueLayout.JAVA_FLOAT, i, i);
            }
            SafeTensorsWriter.write(path, List.of(tensor("first", new float[] {7}, 1),
                new NamedTensor("large", Shape.of(elements), memory -> memory.copyFrom(values))), Map.of());
            try (SafeTensorsFile weights = SafeTensorsFile.open(path)) {
                MemorySegment copy = arena.allocate(ValueLayout.JAVA_FLOAT, elements);
                weights.read("large", copy);
                assertEquals(-1, values.mismatch(copy));
            }
        }
    }

    @Test
    void convertsTheOtherFloatingPointTypes() throws IOException {
        ByteBuffer data = ByteBuffer.allocate(8 + 4 + 4).order(ByteOrder.LITTLE_ENDIAN);
        data.putDouble(1 / 3.0);
        data.putShort(Float.floatToFloat16(-1.5f)).putShort((short) 0x7C00);
        data.putShort((short) 0xBFC0).putShort((short) 0x7F80);
        Path path = SafeTensorsFiles.write(directory, """
            {"bf":{"dtype":"BF16","shape":[2],"data_offsets":[12,16]},
             "half":{"dtype":"F16","shape":[1,2],"data_offsets":[8,12]},
             "double":{"dtype":"F64","shape":[],"data_offsets":[0,8]}}""", data.array());
        try (SafeTensorsFile weights = SafeTensorsFile.open(path)) {
            assertEquals(List.of("bf", "half", "double"), weights.names());
            assertArrayEquals(new float[] {-1.5f, Float.POSITIVE_INFINITY}, read(weights, "bf"));
            assertArrayEquals(new float[] {-1.5f, Float.POSITIVE_INFINITY}, read(weights, "half"));
            assertArrayEquals(new float[] {1 / 3f}, read(weights, "double"));
        }
    }

    @Test
    void refusesToReadIntegers() throws IOException {
        Path path = SafeTensorsFiles.write(directory,
            "{\"count\":{\"dtype\":\"I64\",\"shape\":[1],\"data_offsets\":[0,8]}}", new byte[8]);
        try (SafeTensorsFile weights = SafeTensorsFile.open(path)) {
            UserException failure = assertThrows(UserException.class, () -> read(weights, "count"));
            assertEquals("tensor count of " + path + " is stored as I64; store it as F32, F64, F16 or BF16",
                failure.getMessage());
            assertThrows(UserException.class, () -> weights.shape("cuont"));
        }
    }

    /** The file is read, not mapped: a mapped page beyond its end would end the JVM. */
    @Test
    void aFileThatBecomesShorterIsAnError() throws IOException {
        Path path = directory.resolve("w.safetensors");
        SafeTensorsWriter.write(path, List.of(tensor("w", new float[1 << 20], 1 << 20)), Map.of());
        try (SafeTensorsFile weights = SafeTensorsFile.open(path);
                FileChannel other = FileChannel.open(path, StandardOpenOption.WRITE)) {
            other.truncate(5000);
            String message = assertThrows(UserException.class, () -> read(weights, "w")).getMessage();
            assertTrue(message.contains(path + ": it has become shorter, and ends after 5000 bytes"), message);
        }
    }

    @Test
    void refusesADestinationOfAnotherSize() {
        Path path = directory.resolve("w.safetensors");
        SafeTensorsWriter.write(path, List.of(tensor("w", new float[] {1, 2}, 2)), Map.of());
        try (SafeTensorsFile weights = SafeTensorsFile.open(path)) {
            assertThrows(IllegalArgumentException.class,
                () -> weights.read("w", MemorySegment.ofArray(new float[3])));
        }
    }

    @Test
    void aWriteReplacesTheOldFile() throws IOException {
        Path path = directory.resolve("model.safetensors");
        for (float value : new float[] {1, 2}) {
            SafeTensorsWriter.write(path, List.of(tensor("w", new float[] {value}, 1)), Map.of());
        }
        try (SafeTensorsFile weights = SafeTensorsFile.open(path)) {
            assertArrayEquals(new float[] {2}, read(weights, "w"));
        }
        try (Stream<Path> files = Files.list(directory)) {
            assertEquals(List.of(path), files.toList());
        }
    }

    @Test
    void refusesDuplicateAndReservedNames() {
        Path path = directory.resolve("w.safetensors");
        NamedTensor w = tensor("w", new float[] {1}, 1);
        assertThrows(IllegalArgumentException.class, () -> SafeTensorsWriter.write(path, List.of(w, w), Map.of()));
        NamedTensor reserved = tensor("__metadata__", new float[] {1}, 1);
        assertThrows(IllegalArgumentException.class,
            () -> SafeTensorsWriter.write(path, List.of(reserved), Map.of()));
        assertTrue(Files.notExists(path));
    }
}
