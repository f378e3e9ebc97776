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
    private static final String FORCE = "force";

    @TempDir
    private Path directory;

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
    @MethodSource("org.isobar.data.convert.RefusedData#files")
    void filesThatCannotBeRead(String what, Consumer<Path> sources, List<String> message) {
        sources.accept(directory);
        refused(Map.of("variables", what.contains("Makani") ? "z500" : "t2m"), message);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource({"org.isobar.data.convert.RefusedData#dimensions", "org.isobar.data.convert.RefusedData#values"})
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
        ClassicFile.weather(8).variable("t2m", "K", "lat lon", Double.NaN).write(directory.resolve("a.nc"));
        refused(Map.of("fill", "mean"), List.of(": 't2m' has no value at all, so there is no mean"));
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

    @Test
    void yearsOfAnotherConversionAreNotKept() throws IOException {
        Path source = directory.resolve("a.nc");
        ClassicFile.weather(8).attribute("time", "units", "hours since 2020-01-01").write(source);
        convert(Map.of());
        String kept = "Data file " + directory.resolve("to/2020.h5") + " is there already and has ";
        ClassicFile.weather(8).write(source);
        assertRefused(Map.of("variables", "t2m,z1000", FORCE, ""),
            kept + "the channels [t2m, z500], expected [t2m, z1000]. Move it out");
        assertRefused(Map.of("hours", "12", FORCE, ""), kept + "a time step every 6 hours, expected 12. Move it out");
        ClassicFile.weather(8).coordinate("lat", "degrees_north", 60, 1, -60).write(source);
        assertRefused(Map.of(), kept + "other latitudes or longitudes than this conversion. Move it out");
        assertFalse(Files.exists(directory.resolve("to/2019.h5")));
    }

    /** Otherwise training would read a year of validation. */
    @Test
    void aYearIsNotInBothParts() throws IOException {
        ClassicFile.weather(8).attribute("time", "units", "hours since 2020-01-01").write(directory.resolve("a.nc"));
        ClassicFile.weather(1460).write(directory.resolve("b.nc")); // 2019
        convert(Map.of("valid", "2019"));
        Path valid = directory.resolve("to/valid/2019.h5");
        Path train = directory.resolve("to/train/2020.h5");
        for (Path left : List.of(valid, train)) {
            String expected = "There is a data file " + left + " already, and this conversion writes its year to ";
            assertRefused(Map.of("valid", "2020"), expected);
            assertRefused(Map.of("valid", "2020", FORCE, ""), expected);
            Files.delete(left);
        }
        convert(Map.of("valid", "2020"));
        assertTrue(Files.exists(directory.resolve("to/train/2019.h5")) && !Files.exists(train));
    }

    private void assertRefused(Map<String, String> options, String expected) {
        String message = message(options);
        assertTrue(message.contains(expected), message);
    }

    private void refused(Map<String, String> options, List<String> expected) {
        String message = message(options);
        expected.forEach(part -> assertTrue(message.contains(part), () -> message + "\nlacks " + part));
        Path to = directory.resolve("to");
        try (Stream<Path> left = Files.exists(to) ? Files.walk(to) : Stream.empty()) {
            assertEquals(List.of(), left.filter(path -> path.toString().matches(".*\\.(h5|npy|tmp|part.*)")).toList());
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
            Integer.parseInt(options.getOrDefault("coarsen", "1")), options.getOrDefault("fill", ""), false,
            options.containsKey(FORCE));
        try (Conversion conversion = Conversion.plan(request)) {
            conversion.run((done, total) -> { }, (path, frames, bytes, kept) -> { });
        }
    }

    private static Arguments options(Map<String, String> options, String... message) {
        return Arguments.of(new LinkedHashMap<>(options), List.of(message));
    }
}
