package org.isobar.data.zarr;

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

import org.isobar.data.source.NumberType;
import org.isobar.data.source.StoredArray;
import org.isobar.fault.UserException;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Stores that zarr-python and zarrita have written ({@code tools/make_zarr_fixtures.py},
 * {@code tools/make_zarr3_fixtures.mjs}): element [t, l, j, i] of most arrays is 1000 t + 100 l + 10 j + i.
 */
class ZarrStoreTest {
    private static final int[] SHAPE = {3, 2, 5, 7};
    private static final int[] WEIGHTS = {1000, 100, 10, 1};
    private static final int[][][] BLOCKS = {
        {{0, 0, 0, 0}, {3, 2, 5, 7}}, {{1, 0, 0, 0}, {1, 2, 5, 7}}, {{0, 1, 0, 0}, {3, 1, 5, 7}},
        {{1, 0, 2, 3}, {2, 2, 3, 4}}, {{2, 1, 4, 6}, {1, 1, 1, 1}}, {{0, 0, 2, 0}, {2, 1, 2, 7}},
        {{1, 1, 1, 1}, {0, 1, 1, 1}}};

    @TempDir
    private static Path stores;

    @BeforeAll
    static void unpack() throws IOException {
        for (String name : List.of("small", "blosc", "version3", "weatherbench")) {
            ZarrFixtures.unpack(name, stores.resolve(name));
        }
    }

    @ParameterizedTest
    @CsvSource({"small, plain, F32", "small, big, F32", "small, double, F64", "small, short, I16", "small, nested, I64",
        "small, lz4, I32", "small, unsigned, U32", "version3, plain, F32", "version3, blosc, F32", "version3, big, I16",
        "version3, transposed, F64", "version3, gzip, I64", "version3, checked, I32"})
    void blocksHaveTheirElements(String name, String array, NumberType type) {
        try (ZarrStore store = ZarrStore.open(stores.resolve(name))) {
            StoredArray stored = array(store, array);
            assertEquals(List.of("time", "level", "lat", "lon"), stored.dims());
            assertArrayEquals(SHAPE, stored.shape());
            assertEquals(type, stored.type());
            for (int[][] block : BLOCKS) {
                assertArrayEquals(expected(block[0], block[1]), read(stored, block[0], block[1]),
                    () -> Arrays.deepToString(block));
            }
        }
    }

    @ParameterizedTest
    @CsvSource({"half, F16", "bytes, U8"})
    void smallTypesAreRead(String array, NumberType type) {
        try (ZarrStore store = ZarrStore.open(stores.resolve("small"))) {
            assertEquals(type, array(store, array).type());
            assertArrayEquals(expected(new int[] {2, 1}, new int[] {2, 5}),
                read(array(store, array), new int[] {2, 1}, new int[] {2, 5}));
        }
    }

    /** Every compressor and filter of Blosc: the whole array, and a part in the middle of a block. */
    @Test
    void bloscIsReadInAllItsForms() {
        try (ZarrStore store = ZarrStore.open(stores.resolve("blosc"))) {
            List<StoredArray> arrays = store.arrays().stream().filter(a -> !a.name().equals("noise")).toList();
            assertEquals(34, arrays.size());
            double[] all = expected(new int[3], new int[] {2, 41, 57});
            double[] part = expected(new int[] {1, 17, 3}, new int[] {1, 9, 50});
            for (StoredArray array : arrays) {
                assertArrayEquals(all, read(array, new int[3], array.shape()), array::name);
                assertArrayEquals(part, read(array, new int[] {1, 17, 3}, new int[] {1, 9, 50}), array::name);
            }
        }
    }

    /** Blosc stores what it cannot compress as it is. The numbers are Marsaglia's xorshift. */
    @Test
    void incompressibleNumbersAreRead() {
        double[] expected = new double[1000];
        int x = 1;
        for (int i = 0; i < expected.length; i++) {
            x ^= x << 13;
            x ^= x >>> 17;
            x ^= x << 5;
            expected[i] = Integer.toUnsignedLong(x);
        }
        try (ZarrStore store = ZarrStore.open(stores.resolve("blosc"))) {
            assertArrayEquals(expected, read(array(store, "noise"), new int[1], new int[] {1000}));
            assertArrayEquals(Arrays.copyOfRange(expected, 590, 610),
                read(array(store, "noise"), new int[] {590}, new int[] {20}));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"shards", "shards_start"})
    void shardsAreReadChunkByChunk(String name) {
        try (ZarrStore store = ZarrStore.open(stores.resolve("version3"))) {
            StoredArray array = array(store, name);
            assertArrayEquals(new int[] {2, 1, 3, 4}, array.chunk());
            int[] start = {0, 1, 0, 2};
            int[] count = {2, 1, 5, 5};
            assertArrayEquals(expected(start, count), read(array, start, count));
            // The last chunk was never written: times 2, level 1, latitudes 3 and 4, longitudes from 4 on.
            assertArrayEquals(new double[] {2133, Double.NaN, Double.NaN},
                read(array, new int[] {2, 1, 3, 3}, new int[] {1, 1, 1, 3}));
        }
    }

    @Test
    void chunksThatWereNeverWrittenHaveTheFillValue() {
        int[] start = {1, 0, 0, 0};
        int[] count = {2, 1, 1, 2};
        try (ZarrStore store = ZarrStore.open(stores.resolve("small"))) {
            assertArrayEquals(new double[] {Double.NaN, Double.NaN, 2000, 2001},
                read(array(store, "sparse"), start, count));
            assertArrayEquals(new double[] {-9, -9, 2000, 2001}, read(array(store, "marked"), start, count));
            assertArrayEquals(new double[] {0, 0, 2000, 2001}, read(array(store, "zero"), start, count));
        }
        try (ZarrStore store = ZarrStore.open(stores.resolve("version3"))) {
            assertArrayEquals(new double[] {1.5, 1.5, 2000, 2001}, read(array(store, "sparse"), start, count));
        }
    }

    /** As xarray reads them: in version 2 the fill value marks missing data, if it is not zero. */
    @Test
    void attributesAreThoseOfXarray() {
        try (ZarrStore store = ZarrStore.open(stores.resolve("small"))) {
            assertEquals("K", array(store, "short").attributes().text("units").orElseThrow());
            assertEquals(0.5, array(store, "short").attributes().numbers("scale_factor").orElseThrow()[0]);
            assertEquals(-9, array(store, "marked").attributes().numbers("_FillValue").orElseThrow()[0]);
            assertEquals(Double.NaN, array(store, "sparse").attributes().numbers("_FillValue").orElseThrow()[0]);
            assertTrue(array(store, "zero").attributes().numbers("_FillValue").isEmpty());
            assertEquals("nanoseconds since 1970-01-01",
                array(store, "times").attributes().text("units").orElseThrow());
            assertEquals(18262 * 24 * 3600e9, read(array(store, "times"), new int[1], new int[] {1})[0]);
        }
        try (ZarrStore store = ZarrStore.open(stores.resolve("version3"))) {
            assertEquals(-32767, array(store, "big").attributes().numbers("_FillValue").orElseThrow()[0]);
            assertEquals(Double.NaN, array(store, "transposed").attributes().numbers("_FillValue").orElseThrow()[0]);
            assertEquals("seconds since 1970-01-01", array(store, "stamps").attributes().text("units").orElseThrow());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"small", "version3"})
    void arraysOfOtherThingsAreLeftOut(String name) {
        try (ZarrStore store = ZarrStore.open(stores.resolve(name))) {
            Set<String> names = store.arrays().stream().map(StoredArray::name).collect(Collectors.toSet());
            assertTrue(names.contains("unknown"), names::toString); // refused when it is read
            assertTrue(names.stream().noneMatch(Set.of("text", "words", "inner", "hidden")::contains), names::toString);
            assertArrayEquals(new double[] {7}, read(array(store, "scalar"), new int[0], new int[0]));
        }
    }

    /** The store's own metadata name an array that was not copied. */
    @Test
    void aPartOfAStoreIsEnough() throws IOException {
        try (ZarrStore store = ZarrStore.open(stores.resolve("weatherbench"))) {
            assertEquals(Set.of("2m_temperature", "geopotential", "land_sea_mask", "latitude", "level", "longitude",
                "time"), store.arrays().stream().map(StoredArray::name).collect(Collectors.toSet()));
            assertEquals(List.of("time", "level", "longitude", "latitude"), array(store, "geopotential").dims());
            assertEquals("hours since 1959-01-01", array(store, "time").attributes().text("units").orElseThrow());
        }
        Path part = stores.resolve("part");
        Files.createDirectories(part.resolve("time"));
        for (String file : List.of(".zmetadata", "time/0")) {
            Files.copy(stores.resolve("weatherbench").resolve(file), part.resolve(file));
        }
        try (ZarrStore store = ZarrStore.open(part)) {
            assertEquals(List.of("time"), store.arrays().stream().map(StoredArray::name).toList());
            assertArrayEquals(new double[] {0, 6}, Arrays.stream(read(array(store, "time"), new int[1], new int[] {2}))
                .map(hours -> hours - 534720).toArray());
        }
    }

    /** Planes of large chunks, which Blosc can decode one by one, are the parts that a reader should ask for. */
    @Test
    void largeChunksAreReadInParts() throws IOException {
        Path large = stores.resolve("large");
        ZarrFixtures.unpack("small", large, "marked", "nested");
        for (String array : List.of("marked", "nested")) {
            Path metadata = large.resolve(array).resolve(".zarray");
            Files.writeString(metadata, Files.readString(metadata).replaceAll("\\s", "")
                .replaceAll("\"chunks\":\\[[^]]*", "\"chunks\":[4,3,800,1440"));
        }
        try (ZarrStore store = ZarrStore.open(large)) {
            assertArrayEquals(new int[] {1, 1, 800, 1440}, array(store, "marked").chunk());
            assertArrayEquals(new int[] {4, 3, 800, 1440}, array(store, "nested").chunk()); // of zlib
        }
    }

    @Test
    void severalThreadsReadAtOnce() {
        try (ZarrStore store = ZarrStore.open(stores.resolve("blosc"))) {
            StoredArray array = array(store, "zstd_bytes_4096");
            double[] expected = expected(new int[3], array.shape());
            assertTrue(IntStream.range(0, 64).parallel()
                .allMatch(_ -> Arrays.equals(expected, read(array, new int[3], array.shape()))));
        }
    }

    static StoredArray array(ZarrStore store, String name) {
        return store.arrays().stream().filter(array -> array.name().equals(name)).findFirst().orElseThrow();
    }

    static double[] read(StoredArray array, int[] start, int[] count) {
        int elements = (int) StoredArray.elements(count);
        MemorySegment target = MemorySegment.ofArray(new byte[elements * array.type().bytes()]);
        target.fill((byte) 0x5A);
        array.read(start, count, target);
        double[] values = new double[elements];
        array.type().widen(target, 0, 1, elements, values);
        return values;
    }

    private static double[] expected(int[] start, int[] count) {
        double[] values = new double[(int) StoredArray.elements(count)];
        for (int n = 0; n < values.length; n++) {
            int rest = n;
            for (int d = count.length - 1; d >= 0; d--) {
                values[n] += WEIGHTS[WEIGHTS.length - count.length + d] * (start[d] + rest % count[d]);
                rest /= count[d];
            }
        }
        return values;
    }

    /** The message of a store that cannot be opened, or of the array that cannot be read. */
    static String refusal(Path path, String array) {
        return assertThrows(UserException.class, () -> {
            try (ZarrStore store = ZarrStore.open(path)) {
                StoredArray stored = array(store, array);
                stored.read(new int[stored.shape().length], stored.shape(),
                    MemorySegment.ofArray(new byte[1 << 16]).asSlice(0, 1 << 16));
            }
        }).getMessage();
    }

    /** A chunk is the only one that is read for a block within it. */
    @Test
    void onlyTheChunksOfABlockAreRead() throws IOException {
        Path copy = stores.resolve("one");
        ZarrFixtures.unpack("small", copy, "plain");
        Files.write(copy.resolve("plain/0.0.0.0"), new byte[] {1, 2, 3});
        try (ZarrStore store = ZarrStore.open(copy)) {
            int[] start = {2, 0, 0, 0};
            assertArrayEquals(expected(start, new int[] {1, 2, 3, 4}),
                read(array(store, "plain"), start, new int[] {1, 2, 3, 4}));
            assertThrows(UserException.class, () -> read(array(store, "plain"), new int[4], new int[] {1, 1, 1, 1}));
        }
    }
}
