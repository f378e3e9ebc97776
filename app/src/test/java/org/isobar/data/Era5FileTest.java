package org.isobar.data;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Arrays;

import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Every supported storage layout gives the same normalized numbers; all others are refused with a reason. */
class Era5FileTest {
    private static final Normalization NORMALIZATION =
        new Normalization(new float[] {3, 120, 190}, new float[] {0.7f, 8, 31});

    @TempDir
    private Path directory;

    @ParameterizedTest
    @ValueSource(strings = {"little", "big", "double", "double_big", "latest", "user_block",
        "chunked", "chunked_gzip", "chunked_big", "chunked_double"})
    void readsWindowsOfEveryVariant(String name) {
        try (Era5File file = Era5File.open(DataFixtures.resource(name + ".h5"))) {
            assertEquals(DataFixtures.TIMES, file.times());
            assertEquals(DataFixtures.STORED, file.stored());
            assertReads(file, DataFixtures.STORED, name.contains("double"));
            assertReads(file, new CropWindow(2, 3, 7), name.contains("double"));
            assertReads(file, new CropWindow(1, 5, 4), name.contains("double"));
        }
    }

    private static void assertReads(Era5File file, CropWindow window, boolean doubles) {
        int guard = 3;
        float[] values = new float[(int) window.elements() + 2 * guard];
        for (int t = 0; t < DataFixtures.TIMES; t++) {
            Arrays.fill(values, -77);
            file.read(t, window, NORMALIZATION, MemorySegment.ofArray(values), 4 * guard);
            for (int k = 0; k < values.length; k++) {
                int p = k - guard;
                int c = Math.floorDiv(p, window.height() * window.width());
                int j = Math.floorMod(p / window.width(), window.height());
                float expected = p < 0 || p >= window.elements() ? -77
                    : normal(DataFixtures.value(t, c, j, p % window.width()), c, doubles);
                assertEquals(expected, values[k], "element " + p + " of " + window + " at time " + t);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"little", "big", "double", "double_big", "chunked", "chunked_big", "chunked_double"})
    void withoutNormalizationReadsTheStoredNumbers(String name) {
        CropWindow window = new CropWindow(3, 4, 6);
        float[] values = new float[(int) window.elements()];
        try (Era5File file = Era5File.open(DataFixtures.resource(name + ".h5"))) {
            file.read(2, window, Normalization.none(3), MemorySegment.ofArray(values), 0);
        }
        for (int p = 0; p < values.length; p++) {
            assertEquals(DataFixtures.value(2, p / 24, p / 6 % 4, p % 6), values[p], "element " + p);
        }
    }

    /** The normalized value, computed in the precision of the file, as NumPy does. */
    private static float normal(float value, int c, boolean doubles) {
        float mean = NORMALIZATION.means()[c];
        float spread = NORMALIZATION.spreads()[c];
        return doubles ? (float) (((double) value - mean) / spread) : (value - mean) / spread;
    }

    @Test
    void readsLongRowsWithVectorsAndTail() {
        CropWindow extents = new CropWindow(1, 3, 1001);
        Path path = DataFixtures.year(directory.resolve("2000.h5"), 2, extents, (t, c, j, i) -> i * 0.37f - 90 * j + t);
        Normalization normalization = new Normalization(new float[] {0.1f}, new float[] {3});
        try (Era5File file = Era5File.open(path)) {
            float[] values = new float[3 * 1001];
            file.read(1, extents, normalization, MemorySegment.ofArray(values), 0);
            for (int p = 0; p < values.length; p++) {
                float stored = p % 1001 * 0.37f - 90 * (p / 1001) + 1;
                assertEquals((stored - 0.1f) / 3, values[p], "element " + p);
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"half, 16-bit", "integers, FixedPoint", "strings, StringData", "rank3, 'shape [3, 5, 7]'",
        "no_fields, it has: weather", "group, is a group", "type, not a data set but a data type",
        "unwritten, never written", "soft_link, is a soft link to /weather",
        "dangling_link, is a soft link to /nothing",
        "cyclic_link, is a soft link to /fields", "external_link, is an external link to little.h5:/fields",
        "virtual, Virtual storage is not supported", "external, External Data Files",
        "no_frames, 'is empty: its shape is [0, 3, 5, 7]'", "no_channels, 'is empty: its shape is [4, 0, 5, 7]'",
        "many_frames, an extent of more than 2147483647", "many_bytes, more than 2^63 bytes",
        "large_chunks, 'has chunks of shape [1, 1, 16384, 32768]'"})
    void refusesOtherContents(String name, String reason) {
        assertRefused(DataFixtures.resource(name + ".h5"), reason.equals("16-bit") ? "values of 2 bytes" : reason);
    }

    @ParameterizedTest
    @ValueSource(strings = {"little", "big", "double", "user_block", "latest"})
    void refusesTruncatedFiles(String name) throws IOException {
        byte[] whole = Files.readAllBytes(DataFixtures.resource(name + ".h5"));
        Path path = Files.write(directory.resolve("2001.h5"), Arrays.copyOf(whole, whole.length - 1));
        assertRefused(path, "Copy or make it again");
        Files.write(path, Arrays.copyOf(whole, 100));
        assertRefused(path, "Copy or make it again");
        Files.write(path, new byte[0]);
        assertRefused(path, "Copy or make it again");
    }

    /** Shortened under the reader, once while its code is interpreted and once after it was compiled. */
    @ParameterizedTest
    @CsvSource({"1, 128", "3000, 128", "3000, 101"})
    void aFileThatIsShortenedWhileItIsOpenIsNamed(int reads, int width) throws IOException {
        CropWindow stored = new CropWindow(2, 64, 128);
        CropWindow window = new CropWindow(2, 64, width);
        Path path = DataFixtures.year(directory.resolve("2001.h5"), 8, stored, (t, c, j, i) -> t);
        long size = Files.size(path);
        MemorySegment target = MemorySegment.ofArray(new float[(int) window.elements()]);
        try (Era5File file = Era5File.open(path)) {
            for (int k = 0; k < reads; k++) {
                file.read(k % 8, window, NORMALIZATION, target, 0);
            }
            try (FileChannel channel = FileChannel.open(path, StandardOpenOption.WRITE)) {
                channel.truncate(size / 2);
            }
            for (int k = 4; k < 8; k++) {
                int time = k;
                String message = assertThrows(UserException.class,
                    () -> file.read(time, window, NORMALIZATION, target, 0)).getMessage();
                assertTrue(message.startsWith("Data file " + path + " was shortened from " + size + " to " + size / 2
                    + " bytes before or while time step " + time + " was read"), message);
            }
        }
    }

    @Test
    void namesTheDamagedElement() throws IOException {
        byte[] whole = Files.readAllBytes(DataFixtures.resource("chunked_gzip.h5"));
        Arrays.fill(whole, whole.length - 60, whole.length, (byte) 0x55);
        Path path = Files.write(directory.resolve("2001.h5"), whole);
        float[] values = new float[(int) DataFixtures.STORED.elements()];
        try (Era5File file = Era5File.open(path)) {
            String message = assertThrows(UserException.class, () -> {
                for (int t = 0; t < DataFixtures.TIMES; t++) {
                    file.read(t, DataFixtures.STORED, NORMALIZATION, MemorySegment.ofArray(values), 0);
                }
            }).getMessage();
            assertTrue(message.contains(path.toString()) && message.contains("element [3, 2, 3, 0]"), message);
        }
    }

    /** The extents of a chunk are patched in the header, which gives each 4 bytes: (1, 2, 3, 4) is (1, 2, 3, 5). */
    @Test
    void refusesChunksThatAreTooShort() throws IOException {
        ByteBuffer file = ByteBuffer.wrap(Files.readAllBytes(DataFixtures.resource("chunked.h5")))
            .order(ByteOrder.LITTLE_ENDIAN);
        int extents = 0;
        while (file.getInt(extents) != 1 || file.getInt(extents + 4) != 2 || file.getInt(extents + 8) != 3) {
            extents++;
        }
        file.putInt(extents + 12, 5);
        Path path = Files.write(directory.resolve("2001.h5"), file.array());
        float[] values = new float[(int) DataFixtures.STORED.elements()];
        try (Era5File read = Era5File.open(path)) {
            String message = assertThrows(UserException.class,
                () -> read.read(0, DataFixtures.STORED, NORMALIZATION, MemorySegment.ofArray(values), 0)).getMessage();
            assertTrue(message.contains("[0, 0, 0, 0] (the chunk has 96 bytes of 120)"), message);
        }
    }

    @Test
    void refusesChunksThatWereNeverWritten() {
        try (Era5File file = Era5File.open(DataFixtures.resource("sparse.h5"))) {
            MemorySegment target = MemorySegment.ofArray(new float[(int) DataFixtures.STORED.elements()]);
            file.read(2, DataFixtures.STORED, NORMALIZATION, target, 0);
            String message = assertThrows(UserException.class,
                () -> file.read(3, DataFixtures.STORED, NORMALIZATION, target, 0)).getMessage();
            assertTrue(message.contains("element [3, 0, 0, 0]"), message);
        }
    }

    @Test
    void refusesWhatIsNotAFile() throws IOException {
        assertRefused(directory.resolve("missing.h5"), "No such file");
        assertRefused(Files.createDirectory(directory.resolve("2001.h5")), "is not a file");
        assertRefused(Files.writeString(directory.resolve("2002.h5"), "x".repeat(5000)), "not an HDF5 file");
    }

    /** The shape is patched in the file's header, where each extent has 8 bytes. */
    @Test
    void refusesShapesThatTheFileCannotHold() throws IOException {
        ByteBuffer file = ByteBuffer.wrap(Files.readAllBytes(DataFixtures.resource("little.h5")))
            .order(ByteOrder.LITTLE_ENDIAN);
        int extents = 0;
        while (file.getLong(extents) != 4 || file.getLong(extents + 8) != 3 || file.getLong(extents + 16) != 5) {
            extents++;
        }
        Path path = directory.resolve("2001.h5");
        file.putLong(extents, 1 << 30);
        assertRefused(Files.write(path, file.array()), "cut off: 'fields' of shape [1073741824, 3, 5, 7]");
        for (int dim = 0; dim < 4; dim++) {
            file.putLong(extents + 8 * dim, 1 << 30);
        }
        assertRefused(Files.write(path, file.array()), "more than 2^63 bytes");
        file.putLong(extents, 1L << 31);
        assertRefused(Files.write(path, file.array()), "an extent of more than 2147483647");
    }

    @Test
    void refusesFilesWithoutReadPermission() throws IOException {
        Path path = Files.copy(DataFixtures.resource("little.h5"), directory.resolve("2001.h5"));
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("---------"));
        assumeFalse(Files.isReadable(path), "root may read everything");
        assertRefused(path, "Permission denied");
    }

    private static void assertRefused(Path path, String reason) {
        String message = assertThrows(UserException.class, () -> Era5File.open(path).close()).getMessage();
        assertTrue(message.contains(path.toString()) && message.contains(reason), message);
    }
}
