package org.isobar.data.convert;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

import org.isobar.fault.UserException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Data that cannot be converted are refused with one line that names file, variable and place, and leave no file. */
class ConversionRefusalTest {
    private static final Path RESOURCES = Path.of("src/test/resources/org/isobar/data/convert");
    private static final String YEAR = "years";

    @TempDir
    private Path directory;

    /** Sources in a directory. */
    private interface Sources extends Consumer<Path> { }

    static Stream<Arguments> files() {
        return Stream.of(
            files("an empty file", bytes("a.nc"), "/a.nc is empty"),
            files("a foreign file", bytes("a.nc", "hello, world".getBytes()), "/a.nc is neither NetCDF nor HDF5"),
            files("GRIB", bytes("a.grib", "GRIB0002".getBytes()), "/a.grib is GRIB", "cdo -f nc4"),
            files("an archive", bytes("a.zip", "PK\3\4....".getBytes()), "/a.zip is a ZIP archive", "unzip"),
            files("a compressed file", bytes("a.nc.gz", new byte[] {31, (byte) 139, 8}), "compressed as a whole"),
            files("nothing", dir -> { }, "has no weather data"),
            files("a header cut off", cut(60), "/a.nc is cut off in its header"),
            files("data cut off", cut(2000), "/a.nc is cut off: 'z' ends at byte"),
            files("a damaged header", damaged(11), "/a.nc is damaged"),
            files("NetCDF-4 cut off", resource("copernicus/surface.nc", 9000), "/surface.nc is cut off: 'valid_time' needs bytes"),
            files("Makani without data.json", resource("makani/train/2020.h5", 1 << 20), "/2020.h5",
                "'fields' of shape [6, 3, 7, 8] needs 6 values of 'time', and there are 0", "data.json"),
            files("Makani with other channels", makani("\"u10m\", \"msl\"", "\"u10m\", \"msl\", \"x\""), "/2020.h5",
                "needs 3 values of 'channel', and there are 4"),
            files("a broken data.json", makani("\"dims\":", "\"dims\""), "/data.json is no JSON"),
            files("a broken data.json", makani("\"dhours\": 6", "\"dhours\": 0"), "needs 6 values of 'time'"),
            files("two files with a time", two(file -> file), "'t2m' has the time 2019-01-01 00:00:00, and so has",
                "/a.nc"),
            files("mixed grids", two(file -> later(file).coordinate("lat", "degrees_north", 60, 1, -60)), "/b.nc: 't2m'"
                + " is on a grid of 3 x 4 from 60.0", "/a.nc"),
            files("mixed units", two(file -> later(file).attribute("t2m", "units", "degC")),
                "/b.nc: 't2m' is in 'degC', expected 'K'"),
            files("a gap between files", two(file -> file.attribute("time", "units", "hours since 2019-01-05")),
                "/a.nc: 't2m' and 1 more has no time step at 2019-01-03 00:00:00 for 't2m'; 8 of 24 are missing"));
    }

    static Stream<Arguments> contents() {
        return Stream.of(
            contents("no variable", file -> file.without("t2m"), "no variable for t2m, but: z at 1000, 500 hPa"),
            contents("no level", file -> file.coordinate("level", "hPa", 1000, 850), "no variable for z500, but:",
                "z at 1000, 850 hPa"),
            contents("two names of a variable", file -> file.copy("t2m", "2m_temperature"),
                "has 't2m' twice, as 't2m' and as '2m_temperature'", "--names"),
            contents("a wrong rank", file -> file.variable("t2m", "K", "time lat", 1), "no variable for t2m",
                "t2m [8, 3], no field"),
            contents("a grid of two-dimensional coordinates", file -> file.dim("y", 3).dim("x", 4)
                .variable("t2m", "K", "time y x", 1), "t2m [8, 3, 4], no field of latitudes and longitudes"),
            contents("another dimension", file -> file.dim("number", 2).variable("t2m", "K", "time number lat lon", 1),
                ": 't2m' has the dimension 'number' of 2"),
            contents("two dimensions of time", file -> file.coordinate("valid_time", "hours since 2019-01-01", 0, 6)
                .variable("t2m", "K", "time valid_time lat lon", 1), "two dimensions of time: 'time' and 'valid_time'"),
            contents("model levels", file -> file.coordinate("level", "1", 1, 2), ": 'level' is in '1'", "pressure"),
            contents("a level twice", file -> file.coordinate("level", "hPa", 500, 500), "the level 500.0 hPa twice"),
            contents("a NaN as coordinate", file -> file.coordinate("lat", "degrees_north", 1, Double.NaN, 3),
                ": 'lat' holds NaN at index 1"),
            contents("times that run backwards", times(0, 6, 18, 12), ": 'time' runs backwards: 2019-01-01 12:00:00 at "
                + "index 3, after 2019-01-01 18:00:00"),
            contents("a time twice", times(0, 6, 6, 12), "the same time twice: 2019-01-01 06:00:00 at index 2"),
            contents("a gap", times(0, 6, 12, 24), "no time step at 2019-01-01 18:00:00 for 't2m'; 1 of 5"),
            contents("a late start", times(24, 30, 36), "no time step at 2019-01-01 00:00:00", "4 of 7 are missing"),
            contents("a time between", times(0, 6, 9, 12, 18, 24), "the time 2019-01-01 09:00:00 between"),
            contents("steps of minutes", times(0, 1.5, 3), "steps of 5400 seconds"),
            contents("steps of five hours", times(0, 5, 10), "time steps of 5 hours, which do not divide a day"),
            contents("a single time", times(0), "has a single time", "--hours_per_frame"),
            contents("an infinite time", times(0, 6, Double.POSITIVE_INFINITY), "'time' holds Infinity at index 2"),
            contents("a time of the far future", times(0, 1e12), "'time' holds 1.0E12 at index 1"),
            contents("a calendar of 360 days", file -> file.attribute("time", "calendar", "360_day"),
                ": 'time' has the calendar '360_day'"),
            contents("months", file -> file.attribute("time", "units", "months since 2019-01-01"),
                ": 'time' has the units 'months since 2019-01-01'"),
            contents("no units of time", file -> file.attribute("time", "units", "hours"), "has the units 'hours'"),
            contents("a date that does not exist", file -> file.attribute("time", "units", "hours since 2019-02-30"),
                "'hours since 2019-02-30', whose date does not exist"),
            contents("no times", file -> file.variable("t2m", "K", "lat lon", 1).variable("z", "", "level lat lon", 1),
                "all other variables have no times"),
            contents("a scale factor of zero", file -> file.packed("t2m").attribute("t2m", "scale_factor", 0.0),
                ": 't2m' has the scale_factor 0"),
            contents("an infinite offset", file -> file.attribute("t2m", "add_offset", Double.POSITIVE_INFINITY),
                ": 't2m' has an attribute add_offset that is no finite number"),
            contents("a text as scale factor", file -> file.attribute("t2m", "scale_factor", "0.5"),
                ": 't2m' has an attribute scale_factor that is no finite number"),
            contents("a NaN", file -> file.variable("t2m", "K", "time lat lon", 1, 2, 3, 4, 5, Double.NaN, 7),
                ": 't2m' has no value at 2019-01-01 00:00:00, latitude 0.0, longitude 90.0", "--fill_nan"),
            contents("a missing value", file -> file.packed("z").attribute("z", "_FillValue", -15535.0),
                ": 'z' has no value at 2019-01-01 00:00:00, 500 hPa, latitude 0.0"),
            contents("an infinity", file -> file.variable("t2m", "K", "time lat lon", 1, 1e300),
                ": 't2m' has an infinite value at 2019-01-01 00:00:00, latitude 60.0, longitude 90.0"),
            contents("other units", file -> file.attribute("z", "units", "m"), ": 'z' is in 'm', expected 'm2/s2'"),
            contents("latitudes that turn", file -> file.coordinate("lat", "degrees_north", 60, 0, 30),
                "latitudes that do not run from pole to pole: 30.0 at index 2"),
            contents("latitudes beyond the pole", file -> file.coordinate("lat", "degrees_north", 120, 0, -60),
                "120.0 at index 0"),
            contents("longitudes with a gap", file -> file.coordinate("lon", "degrees_east", 0, 90, 180, 300),
                "longitudes that do not rise eastward in equal steps: 90.0 at index 1"),
            contents("longitudes westward", file -> file.coordinate("lon", "degrees_east", 270, 180, 90, 0),
                "longitudes that do not rise eastward"),
            contents("a meridian twice", file -> file.coordinate("lon", "degrees_east", 0, 120, 240, 360),
                "has the longitude 0.0 twice, as 360.0 too"));
    }

    static Stream<Arguments> options() {
        return Stream.of(
            options(Map.of("from", "s3://bucket/era5"), "s3://bucket/era5 is not on this machine", "aws s3 sync"),
            options(Map.of("from", "gs://bucket/era5"), "gs://bucket/era5 is not on this machine", "gsutil -m rsync"),
            options(Map.of("from", "https://host/era5.nc"), "is not on this machine", "wget"),
            options(Map.of("from", "/nowhere/a.nc"), "cannot read data file /nowhere/a.nc: No such file or directory"),
            options(Map.of("from", "/dev/zero"), "/dev/zero", "a pipe or a device, not a regular file"),
            options(Map.of("to", "/dev/null/data"), "cannot write directory /dev/null/data"),
            options(Map.of("to", "/proc/data"), "cannot write directory /proc/data"),
            options(Map.of("variables", "t2m,z500,t2m"), "--variables has 't2m' twice"),
            options(Map.of("variables", "t2m,t 2"), "'t 2' of --variables has other characters"),
            options(Map.of("variables", "z"), "no variable for z, but:", "z at 1000, 500 hPa"),
            options(Map.of("variables", "t2m,same"), "'t2m' is both 't2m' and 'same'"),
            options(Map.of("names", "t2m K"), "line 1, is 't2m K', expected a short name"),
            options(Map.of("names", "# comment\nt* K 500 t"), "line 2, is 't* K 500 t'"),
            options(Map.of("names", ""), "cannot read file of names", "No such file"),
            options(Map.of(YEAR, "2018"), "has no time in the year 2018: its times run from 2019-01-01 00:00:00"),
            options(Map.of(YEAR, "2019-"), "--years has '2019-', expected years"),
            options(Map.of(YEAR, "2020-2019"), "--years has '2020-2019'"),
            options(Map.of("valid", "2020"), "--valid has the year 2020"),
            options(Map.of("valid", "2019"), "--valid has all years [2019]"),
            options(Map.of("hours", "5"), "5 hours, which do not divide a day"),
            options(Map.of("hours", "-6"), "-6 hours, which do not divide a day"),
            options(Map.of("hours", "3"), "no time step at 2019-01-01 03:00:00"),
            options(Map.of("crop", "10/20"), "--crop is '10/20', expected NORTH/WEST/SOUTH/EAST"),
            options(Map.of("crop", "-30/0/30/90"), "--crop is '-30/0/30/90'"),
            options(Map.of("crop", "50/0/10/90"), "a grid of 3 x 4, of which 0 x 2 are left"),
            options(Map.of("coarsen", "0"), "--coarsen is 0"),
            options(Map.of("coarsen", "4"), "no whole cell of --coarsen=4"),
            options(Map.of("fill", "none"), "--fill_nan has 'none'"),
            options(Map.of("fill", "sst:0"), "--fill_nan has 'sst:0'"),
            options(Map.of("fill", "0,1"), "--fill_nan has '1'"));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("files")
    void filesThatCannotBeRead(String what, Sources sources, List<String> message) {
        sources.accept(directory);
        refused(Map.of("variables", what.contains("Makani") ? "z500" : "t2m"), message);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("contents")
    void contentsThatCannotBeConverted(String what, UnaryOperator<ClassicFile> change, List<String> message) {
        change.apply(ClassicFile.weather(8)).write(directory.resolve("a.nc"));
        refused(Map.of(), message);
        assertFalse(what.isEmpty());
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("options")
    void optionsThatDoNotFit(Map<String, String> options, List<String> message) {
        ClassicFile.weather(8).write(directory.resolve("a.nc"));
        refused(options, message);
    }

    @Test
    void anEarlierYearThatEndsEarly() {
        ClassicFile.weather(8).write(directory.resolve("a.nc"));
        ClassicFile.weather(8).attribute("time", "units", "hours since 2020-01-01").write(directory.resolve("b.nc"));
        refused(Map.of(), List.of("ends at 2019-01-02 18:00:00 in 2019, and later years follow", "--partial"));
    }

    @Test
    void aFieldOfMissingValuesHasNoMean() {
        ClassicFile.weather(8).variable("t2m", "K", "time lat lon", Double.NaN).write(directory.resolve("a.nc"));
        refused(Map.of("fill", "mean"), List.of(": 't2m' has no value at all at 2019-01-01 00:00:00"));
    }

    /** A chunk is damaged after the header: some threads have written already. */
    @Test
    void aDamagedChunk() throws IOException {
        byte[] bytes = Files.readAllBytes(RESOURCES.resolve("copernicus/surface.nc"));
        for (int i = 0; i + 2 < bytes.length; i++) {
            if (bytes[i] == 0x78 && (bytes[i + 1] == 0x5E || bytes[i + 1] == 0x9C)) { // zlib
                Arrays.fill(bytes, i, i + 40, (byte) 0);
            }
        }
        Files.write(directory.resolve("a.nc"), bytes);
        refused(Map.of("variables", "t2m"), List.of("/a.nc: 't2m' cannot be read at element [0, 0, 0]"));
    }

    @Test
    void aDiskThatIsTooSmall() throws IOException {
        assumeTrue(Files.getFileStore(directory).getUsableSpace() < 4e12);
        double[] hours = new double[8760];
        double[] lats = new double[10_001];
        double[] lons = new double[20_000];
        Arrays.setAll(hours, i -> i);
        Arrays.setAll(lats, j -> 90 - j * 0.018);
        Arrays.setAll(lons, i -> i * 0.018);
        ClassicFile large = ClassicFile.weather(1).without("z").coordinate("time", "hours since 2019-01-01", hours)
            .coordinate("lat", "degrees_north", lats).coordinate("lon", "degrees_east", lons);
        large.sparse("t2m").write(directory.resolve("a.nc"));
        try (RandomAccessFile sparse = new RandomAccessFile(directory.resolve("a.nc").toFile(), "rw")) {
            sparse.setLength(sparse.length() + 8760L * 10_001 * 20_000);
        }
        refused(Map.of("variables", "t2m"), List.of("/to need 7008.", "GB, but the disk has"));
    }

    @Test
    void otherDataInTheDirectory() throws IOException {
        ClassicFile.weather(8).write(directory.resolve("a.nc"));
        Path to = Files.createDirectory(directory.resolve("to"));
        Files.writeString(to.resolve("2019.h5"), "mine");
        assertTrue(message(Map.of()).contains("There is a data file " + to.resolve("2019.h5") + " already"));
        assertEquals("mine", Files.readString(to.resolve("2019.h5")));
        Files.delete(to.resolve("2019.h5"));
        Files.writeString(to.resolve("conversion.json"), "{}");
        assertTrue(message(Map.of()).contains("has a conversion with other settings"));
        Files.writeString(to.resolve("conversion.json"), "{");
        assertTrue(message(Map.of()).contains("conversion.json cannot be parsed"));
    }

    private void refused(Map<String, String> options, List<String> expected) {
        String message = message(options);
        expected.forEach(part -> assertTrue(message.contains(part), () -> message + "\nlacks " + part));
        Path to = directory.resolve("to");
        try (Stream<Path> left = Files.exists(to) ? Files.walk(to) : Stream.empty()) {
            assertEquals(List.of(), left.filter(path -> path.toString().matches(".*\\.(h5|npy|tmp)")).toList());
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    private String message(Map<String, String> options) {
        String message = assertThrows(UserException.class, () -> convert(options)).getMessage();
        assertFalse(message.contains("\n"), message);
        return message;
    }

    private void convert(Map<String, String> options) throws IOException {
        Optional<Path> names = Optional.empty();
        if (options.containsKey("names") || options.getOrDefault("variables", "").contains("same")) {
            names = Optional.of(directory.resolve("names.txt"));
            String lines = options.getOrDefault("names", "same K - t2m");
            if (!lines.isEmpty()) {
                Files.writeString(names.get(), lines);
            }
        }
        ConversionRequest request = new ConversionRequest(
            List.of(options.getOrDefault("from", directory.toString())),
            Path.of(options.getOrDefault("to", directory.resolve("to").toString())),
            List.of(options.getOrDefault("variables", "t2m,z500").split(",")), names,
            YearSet.of("--years", options.getOrDefault(YEAR, "")),
            YearSet.of("--valid", options.getOrDefault("valid", "")),
            Integer.parseInt(options.getOrDefault("hours", "0")), options.getOrDefault("crop", ""),
            Integer.parseInt(options.getOrDefault("coarsen", "1")), options.getOrDefault("fill", ""), false, false);
        try (Conversion conversion = Conversion.plan(request)) {
            conversion.run((done, total) -> { }, (path, frames, bytes, kept) -> { });
        }
    }

    private static Arguments files(String what, Sources sources, String... message) {
        return Arguments.of(what, sources, List.of(message));
    }

    private static Arguments contents(String what, UnaryOperator<ClassicFile> change, String... message) {
        return Arguments.of(what, change, List.of(message));
    }

    private static Arguments options(Map<String, String> options, String... message) {
        return Arguments.of(new LinkedHashMap<>(options), List.of(message));
    }

    private static UnaryOperator<ClassicFile> times(double... hours) {
        return file -> file.coordinate("time", "hours since 2019-01-01", hours);
    }

    private static ClassicFile later(ClassicFile file) {
        return file.attribute("time", "units", "hours since 2019-01-03");
    }

    private static Sources bytes(String name, byte... bytes) {
        return dir -> write(dir.resolve(name), bytes);
    }

    private static Sources two(UnaryOperator<ClassicFile> change) {
        return dir -> {
            ClassicFile.weather(8).write(dir.resolve("a.nc"));
            change.apply(ClassicFile.weather(8)).write(dir.resolve("b.nc"));
        };
    }

    private static Sources cut(int bytes) {
        return dir -> {
            Path file = ClassicFile.weather(8).write(dir.resolve("a.nc"));
            write(file, Arrays.copyOf(read(file), bytes));
        };
    }

    private static Sources damaged(int place) {
        return dir -> {
            Path file = ClassicFile.weather(8).write(dir.resolve("a.nc"));
            byte[] bytes = read(file);
            bytes[place] ^= 0x40;
            write(file, bytes);
        };
    }

    private static Sources resource(String name, int bytes) {
        return dir -> {
            byte[] whole = read(RESOURCES.resolve(name));
            write(dir.resolve(Path.of(name).getFileName()), Arrays.copyOf(whole, Math.min(bytes, whole.length)));
        };
    }

    private static Sources makani(String part, String replacement) {
        return dir -> {
            write(dir.resolve("2020.h5"), read(RESOURCES.resolve("makani/train/2020.h5")));
            write(dir.resolve("data.json"), new String(read(RESOURCES.resolve("makani/metadata/data.json")))
                .replace(part, replacement).getBytes());
        };
    }

    private static byte[] read(Path path) {
        try {
            return Files.readAllBytes(path);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }

    private static void write(Path path, byte[] bytes) {
        try {
            Files.write(path, bytes);
        } catch (IOException failure) {
            throw new UncheckedIOException(failure);
        }
    }
}
