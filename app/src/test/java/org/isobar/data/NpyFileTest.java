package org.isobar.data;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

import org.isobar.fault.UserException;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Reads and writes NumPy array files; compares with files that NumPy wrote. */
class NpyFileTest {
    private static final double[] VALUES = {-0.5, -0.25, 0, 0.25, 0.5, 0.75};

    @TempDir
    private Path directory;

    @ParameterizedTest
    @CsvSource({"f4, F32", "f4_big, F32", "f8, F64", "f8_big, F64", "version2, F32", "version3, F32"})
    void readsWhatNumpyWrites(String name, DType dtype) {
        NpyFile file = NpyFile.read(DataFixtures.resource(name + ".npy"));
        assertEquals(dtype, file.dtype());
        assertEquals(Shape.of(1, 3, 2), file.shape());
        assertArrayEquals(VALUES, file.values());
    }

    @ParameterizedTest
    @EnumSource(value = DType.class, names = {"F32", "F64"})
    void writesTheBytesThatNumpyWrites(DType dtype) throws IOException {
        Path path = directory.resolve("made/array.npy");
        new NpyFile(dtype, Shape.of(1, 3, 2), VALUES).write(path);
        Path numpys = DataFixtures.resource("f" + dtype.bytes() + ".npy");
        assertArrayEquals(Files.readAllBytes(numpys), Files.readAllBytes(path));
    }

    @Test
    void keepsVectorsAndScalars() {
        for (Shape shape : new Shape[] {Shape.of(6), Shape.of()}) {
            Path path = directory.resolve("array.npy");
            double[] values = Arrays.copyOf(VALUES, (int) shape.elements());
            new NpyFile(DType.F64, shape, values).write(path);
            assertEquals(shape, NpyFile.read(path).shape());
            assertArrayEquals(values, NpyFile.read(path).values());
        }
    }

    @ParameterizedTest
    @CsvSource({"fortran, Fortran order", "integers, '<i8'"})
    void refusesOtherOrdersAndTypes(String name, String reason) {
        assertRefused(DataFixtures.resource(name + ".npy"), reason);
    }

    @ParameterizedTest
    @ValueSource(ints = {0, 5, 9, 40, 128, 151})
    void refusesFilesThatAreCutOff(int length) throws IOException {
        byte[] whole = Files.readAllBytes(DataFixtures.resource("f4.npy"));
        assertEquals(152, whole.length);
        Path path = Files.write(directory.resolve("short.npy"), Arrays.copyOf(whole, length));
        assertRefused(path, length < 10 ? "not a NumPy array file" : "cut off");
    }

    @Test
    void namesAMissingFile() {
        assertRefused(directory.resolve("missing.npy"), "No such file");
    }

    private static void assertRefused(Path path, String reason) {
        String message = assertThrows(UserException.class, () -> NpyFile.read(path)).getMessage();
        assertTrue(message.contains(path.toString()) && message.contains(reason), message);
    }

    @Test
    void refusesADevice() {
        assertTrue(assertThrows(UserException.class, () -> NpyFile.read(Path.of("/dev/zero"))).getMessage()
            .contains("It is a pipe or a device, not a regular file"));
    }
}
