package org.isobar.data.convert;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.stream.Stream;

import io.jhdf.HdfFile;
import org.isobar.data.Hdf5Header;
import org.isobar.data.NpyFile;
import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Stores that {@code tools/make_conversion_fixtures.py} made become what NumPy makes of them, to the bit. */
class ConversionTest {
    private static final Path RESOURCES = Path.of("src/test/resources/org/isobar/data/convert");
    private static final double[] LATITUDES = {90, 60, 30, 0, -30, -60, -90};
    private static final double[] LONGITUDES = {0, 45, 90, 135, 180, 225, 270, 315};

    @TempDir
    private Path directory;

    @ParameterizedTest
    @CsvSource(delimiter = ';', textBlock = """
        copernicus; copernicus; u10,t2m,t850,z500,z1000; ''
        packed;     packed;     t2m;                     ''
        classic;    classic;    z500,tcc,t2m;            ''
        makani;     makani;     z500,mslp,u10;           ''
        annotated;  makani;     z500,mslp,u10;           ''
        missing;    missing;    sst;                     271.35
        missing;    mean;       sst;                     sst:mean
        """)
    void aStoreHasTheBitsOfNumPy(String store, String expected, String variables, String fill) throws IOException {
        convert(request(store, variables, fill, "", 1));
        Path year = directory.resolve("2020.h5");
        assertArrayEquals(expected(expected), fields(year));
        try (HdfFile file = new HdfFile(year)) {
            assertArrayEquals(LATITUDES, (double[]) file.getDatasetByPath("lat").getData());
            assertArrayEquals(LONGITUDES, (double[]) file.getDatasetByPath("lon").getData());
            assertArrayEquals(variables.split(","), (String[]) file.getDatasetByPath("channel").getData());
            assertArrayEquals(new long[] {1577836800, 1577858400, 1577880000, 1577901600, 1577923200, 1577944800},
                (long[]) file.getDatasetByPath("time").getData());
        }
        assertEquals(List.of("2020.h5", "conversion.json", "stats"), names(directory));
        assertEquals(List.of("global_means.npy", "global_stds.npy", "maxs.npy", "mins.npy", "time_means.npy"),
            names(directory.resolve("stats")));
    }

    @Test
    void timesOfAFileOfChannelsAreReadInTheirUnits() throws IOException {
        ByteBuffer header = Hdf5Header.of("fields", new long[] {2, 1, 3, 4}, List.of(), List.of(
            new Hdf5Header.Companion("channel", new String[] {"t2m"}, ""),
            new Hdf5Header.Companion("time", new long[] {1051896, 1051902}, "hours since 1900-01-01"),
            new Hdf5Header.Companion("lat", new double[] {60, 0, -60}, ""),
            new Hdf5Header.Companion("lon", new double[] {0, 90, 180, 270}, "")));
        Path source = Files.write(directory.resolve("source.h5"),
            Arrays.copyOf(header.array(), header.capacity() + 2 * 3 * 4 * Float.BYTES));
        Path to = directory.resolve("to");
        convert(new ConversionRequest(List.of(source.toString()), to, List.of("t2m"), Optional.empty(),
            new TreeSet<>(), new TreeSet<>(), 0, "", 1, "", false, false));
        try (HdfFile file = new HdfFile(to.resolve("2020.h5"))) {
            assertArrayEquals(new long[] {1577836800, 1577858400},
                (long[]) file.getDatasetByPath("time").getData());
        }
    }

    @Test
    void cellsAreMeansWeightedByArea() throws IOException {
        convert(request("missing", "sst", "271.35", "", 2));
        float[] cells = expected("cells");
        assertArrayEquals(cells, fields(directory.resolve("2020.h5")), 2 * Math.ulp(300f)); // another order of sums
        try (HdfFile file = new HdfFile(directory.resolve("2020.h5"))) {
            assertArrayEquals(new double[] {75, 15, -45}, (double[]) file.getDatasetByPath("lat").getData());
            assertArrayEquals(new double[] {22.5, 112.5, 202.5, 292.5},
                (double[]) file.getDatasetByPath("lon").getData());
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = ';', textBlock = """
        copernicus; 6x4;           0; 6; 0; 4
        copernicus; 60/45/-30/180; 1; 4; 1; 4
        packed;     60/45/-30/180; 1; 4; 1; 4
        packed;     90/-90/0/90;   0; 4; 6; 5
        """)
    void aPartOfTheGridIsCut(String store, String crop, int row, int rows, int column, int columns) throws IOException {
        convert(request(store, "t2m", "", crop, 1));
        float[] whole = expected(store);
        int channels = whole.length / 6 / 56;
        int channel = Math.min(1, channels - 1);
        float[] cut = new float[6 * rows * columns];
        for (int t = 0, k = 0; t < 6; t++) {
            for (int j = row; j < row + rows; j++) {
                for (int i = column; i < column + columns; i++) {
                    cut[k++] = whole[((t * channels + channel) * 7 + j) * 8 + i % 8];
                }
            }
        }
        assertArrayEquals(cut, fields(directory.resolve("2020.h5")));
    }

    /** Columns on both sides of Greenwich, and of the date line. */
    @ParameterizedTest
    @CsvSource(delimiter = ';', textBlock = """
        60/-90/-30/90;  1; -90 -45 0 45 90
        90/-90/-90/45;  2; -67.5 22.5
        90/-180/-90/180; 1; -180 -135 -90 -45 0 45 90 135
        60/135/-30/270; 1; 135 180 225 270
        60/-90/-30/-45; 1; 270 315
        """)
    void longitudesRise(String crop, int coarsen, String longitudes) throws IOException {
        convert(request("copernicus", "t2m", "", crop, coarsen));
        try (HdfFile file = new HdfFile(directory.resolve("2020.h5"))) {
            assertArrayEquals(Stream.of(longitudes.split(" ")).mapToDouble(Double::parseDouble).toArray(),
                (double[]) file.getDatasetByPath("lon").getData());
        }
    }

    @Test
    void aConversionIsContinued() throws IOException {
        ConversionRequest request = request("copernicus", "t2m,z500", "", "", 1);
        List<Boolean> first = convert(request);
        byte[] bytes = Files.readAllBytes(directory.resolve("2020.h5"));
        byte[] timeMeans = Files.readAllBytes(directory.resolve("stats/time_means.npy"));
        Files.delete(directory.resolve("stats/time_means.npy"));
        List<Boolean> again = convert(request);
        assertArrayEquals(timeMeans, Files.readAllBytes(directory.resolve("stats/time_means.npy")));
        Files.write(directory.resolve("2020.h5"), new byte[100]);
        List<Boolean> damaged = convert(request);
        assertEquals(List.of(List.of(false), List.of(true), List.of(false)), List.of(first, again, damaged));
        assertArrayEquals(bytes, Files.readAllBytes(directory.resolve("2020.h5")));
    }

    @Test
    void statisticsThatCannotBeWrittenNameTheOption() throws IOException {
        Files.writeString(directory.resolve("stats"), "a file");
        UserException refusal = assertThrows(UserException.class,
            () -> convert(request("copernicus", "t2m", "", "", 1)));
        assertTrue(refusal.getMessage().contains("choose another directory with --to"), refusal::getMessage);
    }

    @Test
    void aConversionIsASource() throws IOException {
        convert(request("copernicus", "u10,t2m,t850,z500,z1000", "", "", 1));
        ConversionRequest again = new ConversionRequest(List.of(directory.toString()), directory.resolve("again"),
            List.of("z500", "u10"), Optional.empty(), new TreeSet<>(), new TreeSet<>(), 12, "", 1, "", false, false);
        convert(again);
        float[] from = expected("copernicus");
        float[] to = fields(directory.resolve("again/2020.h5"));
        assertEquals(3 * 2 * 56, to.length);
        for (int t = 0; t < 3; t++) {
            for (int i = 0; i < 56; i++) {
                assertEquals(from[(2 * t * 5 + 3) * 56 + i], to[2 * t * 56 + i]);
                assertEquals(from[2 * t * 5 * 56 + i], to[(2 * t + 1) * 56 + i]);
            }
        }
        assertTrue(Files.readString(directory.resolve("again/conversion.json")).contains("\"hoursPerFrame\" : 12"));
    }

    private ConversionRequest request(String store, String variables, String fill, String crop, int coarsen) {
        return new ConversionRequest(List.of(RESOURCES.resolve(store).toString()), directory,
            List.of(variables.split(",")), Optional.empty(), new TreeSet<>(), new TreeSet<>(), 0, crop, coarsen, fill,
            false, false);
    }

    /** Whether each year was kept. */
    private static List<Boolean> convert(ConversionRequest request) {
        List<Boolean> kept = new ArrayList<>();
        try (Conversion conversion = Conversion.plan(request)) {
            conversion.run((done, total) -> { }, (path, frames, bytes, there) -> kept.add(there));
        }
        return kept;
    }

    private static float[] expected(String name) {
        double[] values = NpyFile.read(RESOURCES.resolve(name + ".npy")).values();
        float[] floats = new float[values.length];
        for (int i = 0; i < floats.length; i++) {
            floats[i] = (float) values[i];
        }
        return floats;
    }

    private static float[] fields(Path path) {
        try (HdfFile file = new HdfFile(path)) {
            return (float[]) file.getDatasetByPath("fields").getDataFlat();
        }
    }

    private static List<String> names(Path path) throws IOException {
        try (var entries = Files.list(path)) {
            return entries.map(entry -> entry.getFileName().toString()).sorted().toList();
        }
    }
}
