package org.isobar.data.source;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Arrays of NetCDF files, written by {@code tools/make_store_fixtures.py}: element [t, l, j, i] is a known number. */
class StoredArrayTest {
    private static final int[][][] BLOCKS = {
        {{0, 0, 0, 0}, {3, 2, 5, 7}}, {{1, 0, 0, 0}, {1, 2, 5, 7}}, {{0, 1, 0, 0}, {3, 1, 5, 7}},
        {{1, 0, 2, 3}, {2, 2, 3, 4}}, {{2, 1, 4, 6}, {1, 1, 1, 1}}, {{0, 0, 2, 0}, {2, 1, 2, 7}},
        {{1, 1, 1, 1}, {0, 1, 1, 1}}};

    @TempDir
    private Path directory;

    @ParameterizedTest
    @ValueSource(strings = {"classic", "offset64", "data64", "netcdf4"})
    void blocksHaveTheirElements(String file) {
        try (ArrayStore store = open(file)) {
            StoredArray packed = array(store, "packed");
            assertEquals(List.of("time", "level", "lat", "lon"), packed.dims());
            assertArrayEquals(new int[] {3, 2, 5, 7}, packed.shape());
            assertEquals(NumberType.I16, packed.type());
            assertEquals("K", packed.attributes().text("units").orElseThrow());
            assertEquals(0.5, packed.attributes().numbers("scale_factor").orElseThrow()[0]);
            assertEquals(-32767, packed.attributes().numbers("_FillValue").orElseThrow()[0]);
            for (int[][] block : BLOCKS) {
                assertArrayEquals(expected(block[0], block[1]), read(packed, block[0], block[1]),
                    () -> Arrays.deepToString(block));
            }
            assertArrayEquals(new double[] {7}, read(array(store, "scalar"), new int[0], new int[0]));
            assertTrue(store.arrays().stream().noneMatch(array -> array.name().equals("text")));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"classic", "offset64", "data64"})
    void classicFilesInterleaveRecords(String file) {
        try (ArrayStore store = open(file)) {
            assertArrayEquals(expected(new int[] {0, 0, 1, 2}, new int[] {3, 1, 2, 3}),
                read(array(store, "surface"), new int[] {0, 1, 2}, new int[] {3, 2, 3}));
            assertArrayEquals(new double[] {(byte) 2002, (byte) 2003},
                read(array(store, "bytes"), new int[] {2, 2}, new int[] {1, 2}));
            assertArrayEquals(expected(new int[] {0, 0, 0, 5}, new int[] {1, 1, 5, 2}),
                read(array(store, "fixed"), new int[] {0, 5}, new int[] {5, 2}));
        }
    }

    @Test
    void aSingleVariableWithRecordsIsNotPadded() {
        try (ArrayStore store = open("one_record")) {
            assertArrayEquals(new double[] {1000, 1001, 1002, 1003, 1004, 1005, 1006, 2000, 2001, 2002, 2003, 2004,
                2005, 2006}, read(array(store, "packed"), new int[] {1, 0}, new int[] {2, 7}));
        }
    }

    @Test
    void netCdf4HasByteOrdersAndFillValues() {
        try (ArrayStore store = open("netcdf4")) {
            assertEquals(Set.of("time", "level", "lat", "lon", "packed", "big", "unsigned", "scalar", "sparse",
                "unwritten"), store.arrays().stream().map(StoredArray::name).collect(Collectors.toSet()));
            assertEquals("hours since 1990-01-01", array(store, "time").attributes().text("units").orElseThrow());
            assertArrayEquals(new double[] {0, 1, 2}, read(array(store, "time"), new int[1], new int[] {3}));
            assertArrayEquals(expected(new int[] {0, 0, 1, 2}, new int[] {1, 1, 2, 3}),
                read(array(store, "big"), new int[] {1, 2}, new int[] {2, 3}));
            assertEquals(NumberType.U16, array(store, "unsigned").type());
            assertArrayEquals(expected(BLOCKS[3][0], BLOCKS[3][1]),
                read(array(store, "unsigned"), BLOCKS[3][0], BLOCKS[3][1]));
            assertArrayEquals(new double[] {-9, -9, 2000, 2001}, read(array(store, "sparse"),
                new int[] {1, 0, 0, 0}, new int[] {2, 1, 1, 2}));
            assertArrayEquals(new double[] {2.5}, read(array(store, "unwritten"), new int[2], new int[] {1, 1}));
        }
    }

    /** Each cut of the file is refused on opening or reading, or leaves out nothing that is read. */
    @ParameterizedTest
    @CsvSource({"classic, 40", "offset64, 40", "data64, 40", "netcdf4, 40"})
    void aFileThatIsCutOffIsRefused(String file, int cuts) throws IOException {
        byte[] whole = Files.readAllBytes(resource(file));
        for (int k = 0; k < cuts; k++) {
            Path cut = Files.write(directory.resolve("cut.nc"), Arrays.copyOf(whole, whole.length * k / cuts));
            UserException refusal = assertThrows(UserException.class, () -> {
                try (ArrayStore store = open(cut)) {
                    for (StoredArray array : store.arrays()) {
                        read(array, new int[array.shape().length], array.shape());
                    }
                    throw new UserException("NetCDF file " + cut + " lacks arrays: " + store.arrays().size());
                }
            });
            assertTrue(refusal.getMessage().contains(cut.toString()), refusal::getMessage);
        }
    }

    static Path resource(String name) {
        return Path.of("src/test/resources/org/isobar/data/source", name + ".nc");
    }

    private static ArrayStore open(String name) {
        return open(resource(name));
    }

    private static ArrayStore open(Path path) {
        try {
            return Files.readAllBytes(path).length > 0 && Files.readAllBytes(path)[0] == 'C' ? NetCdf3Store.open(path)
                : Hdf5Store.open(path);
        } catch (IOException failure) {
            throw new IllegalStateException(failure);
        }
    }

    private static StoredArray array(ArrayStore store, String name) {
        return store.arrays().stream().filter(array -> array.name().equals(name)).findFirst().orElseThrow();
    }

    private static double[] read(StoredArray array, int[] start, int[] count) {
        int elements = (int) StoredArray.elements(count);
        MemorySegment target = MemorySegment.ofArray(new byte[elements * array.type().bytes()]);
        array.read(start, count, target);
        double[] values = new double[elements];
        array.type().widen(target, 0, elements, values);
        return values;
    }

    private static double[] expected(int[] start, int[] count) {
        return IntStream.range(start[0], start[0] + count[0]).boxed().flatMap(t ->
            IntStream.range(start[1], start[1] + count[1]).boxed().flatMap(l ->
                IntStream.range(start[2], start[2] + count[2]).boxed().flatMap(j ->
                    IntStream.range(start[3], start[3] + count[3]).mapToObj(i -> 1000.0 * t + 100 * l + 10 * j + i))))
            .mapToDouble(Double::doubleValue).toArray();
    }
}
