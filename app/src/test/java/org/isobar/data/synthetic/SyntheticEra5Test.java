package org.isobar.data.synthetic;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.jhdf.HdfFile;
import org.isobar.data.DatasetConfig;
import org.isobar.data.Era5Dataset;
import org.isobar.data.Era5Variable;
import org.isobar.data.NpyFile;
import org.isobar.data.synthetic.SyntheticEra5.Existing;
import org.isobar.fault.UserException;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Writes a small synthetic data set and reads its files with jHDF and the loader. */
@Execution(ExecutionMode.CONCURRENT)
class SyntheticEra5Test {
    private static final int HEIGHT = 32;
    private static final int WIDTH = 64;
    private static final SyntheticConfig CONFIG = new SyntheticConfig(HEIGHT, WIDTH, 2, 1, 1, 40, 3);

    @TempDir
    private Path directory;
    private final List<String> said = new ArrayList<>();

    @BeforeEach
    void make() {
        SyntheticEra5.write(CONFIG, directory, Existing.KEEP, said::add);
    }

    private static float[][][][] fields(Path path) {
        try (HdfFile hdf = new HdfFile(path)) {
            return (float[][][][]) hdf.getDatasetByPath("fields").getData();
        }
    }

    @Test
    void writesTheTutorialsLayout() throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            assertEquals(List.of(".synthetic.lock", "stats/global_means.npy", "stats/global_stds.npy",
                "stats/synthetic.json", "stats/time_means.npy", "test/1982.h5", "train/1979.h5", "train/1980.h5",
                "valid/1981.h5"),
                files.filter(Files::isRegularFile).map(directory::relativize).map(Path::toString).sorted().toList());
        }
        try (HdfFile hdf = new HdfFile(directory.resolve("valid/1981.h5"))) {
            assertArrayEquals(new int[] {40, 20, HEIGHT, WIDTH}, hdf.getDatasetByPath("fields").getDimensions());
            String[] names = (String[]) hdf.getDatasetByPath("fields").getAttribute("channels").getData();
            assertEquals("u10 v10 t2m sp mslp t850 u1000 v1000 z1000 u850 v850 z850 u500 v500 z500 t500 z50 r500 r850 "
                + "tcwv", String.join(" ", names));
        }
    }

    @Test
    void dependsOnTheConfigurationOnly() throws IOException {
        Path other = directory.resolve("other");
        SyntheticEra5.write(CONFIG, other, Existing.KEEP, line -> { });
        for (String file : List.of("train/1980.h5", "valid/1981.h5", "stats/global_stds.npy", "stats/synthetic.json")) {
            assertEquals(-1, Files.mismatch(directory.resolve(file), other.resolve(file)), file);
        }
        WeatherFrame frame = new WeatherFrame(new SyntheticWeather(CONFIG));
        frame.moveTo(40 + 17); // the second year continues the first
        float[][] stored = fields(directory.resolve("train/1980.h5"))[17][Era5Variable.TCWV.ordinal()];
        for (int j = 0; j < HEIGHT; j++) {
            float[] row = Arrays.copyOfRange(frame.field(Era5Variable.TCWV), j * WIDTH, (j + 1) * WIDTH);
            assertArrayEquals(row, stored[j]);
        }
    }

    @Test
    void statisticsCoverTheTrainingYears() {
        double[] means = NpyFile.read(directory.resolve("stats/global_means.npy")).values();
        double[] deviations = NpyFile.read(directory.resolve("stats/global_stds.npy")).values();
        NpyFile timeMeans = NpyFile.read(directory.resolve("stats/time_means.npy"));
        assertArrayEquals(new long[] {1, 20, HEIGHT, WIDTH}, timeMeans.shape().extents());
        float[][][][] first = fields(directory.resolve("train/1979.h5"));
        float[][][][] second = fields(directory.resolve("train/1980.h5"));
        for (int c = 0; c < Era5Variable.COUNT; c++) {
            int channel = c;
            double[] values = Stream.of(first, second).flatMap(Arrays::stream)
                .flatMap(frame -> Arrays.stream(frame[channel])).flatMapToDouble(SyntheticEra5Test::doubles).toArray();
            double mean = Arrays.stream(values).average().orElseThrow();
            double square = Arrays.stream(values).map(x -> (x - mean) * (x - mean)).average().orElseThrow();
            assertEquals(mean, means[c], 1e-6 * Math.abs(mean) + 1e-6 * Math.sqrt(square));
            assertEquals(Math.sqrt(square), deviations[c], 1e-6 * deviations[c]);
            double here = Stream.of(first, second).flatMap(Arrays::stream)
                .mapToDouble(frame -> frame[channel][5][9]).average().orElseThrow();
            assertEquals(here, timeMeans.values()[(c * HEIGHT + 5) * WIDTH + 9], 1e-6 * Math.abs(here) + 1e-9);
        }
    }

    private static DoubleStream doubles(float[] row) {
        return IntStream.range(0, row.length).mapToDouble(i -> row[i]);
    }

    @Test
    void persistenceIsASkilfulBaselineAndTheNoiseFloorIsFarBelow() {
        Path stats = directory.resolve("stats");
        DatasetConfig config = new DatasetConfig(directory.resolve("valid"), stats.resolve("global_means.npy"),
            stats.resolve("global_stds.npy"), HEIGHT, WIDTH, 1, 1, 1, OptionalLong.empty());
        double sum = 0;
        int samples;
        try (Era5Dataset data = Era5Dataset.open(config)) {
            samples = data.size();
            for (int sample = 0; sample < samples; sample++) {
                float[] now = new float[HEIGHT * WIDTH];
                float[] next = new float[HEIGHT * WIDTH];
                data.read(sample, MemorySegment.ofArray(now), 0, MemorySegment.ofArray(next), 0);
                sum += weightedRmse(now, next);
            }
        }
        double persistence = sum / samples;
        assertTrue(persistence > 0.2 && persistence < 0.6, "u10 persistence " + persistence);
        double floor = SyntheticManifest.read(directory).orElseThrow().variables().getFirst().noiseFloor();
        assertTrue(floor > 0.02 && floor < 0.1, "u10 noise floor " + floor);
        assertTrue(said.getLast().contains(String.format(Locale.ROOT, "%.4f", floor)), said.getLast());
    }

    private static double weightedRmse(float[] a, float[] b) {
        double sum = 0;
        double weights = 0;
        for (int p = 0; p < a.length; p++) {
            double weight = Math.cos(Math.PI / 2 - Math.PI * (p / WIDTH) / (HEIGHT - 1));
            sum += weight * (a[p] - b[p]) * (a[p] - b[p]);
            weights += weight;
        }
        return Math.sqrt(sum / weights);
    }

    @Test
    void aSecondRunFindsTheCompleteDataSet() throws IOException {
        Path file = directory.resolve("train/1979.h5");
        var made = Files.getLastModifiedTime(file);
        assertTrue(SyntheticEra5.isComplete(CONFIG, directory));
        SyntheticEra5.write(CONFIG, directory, Existing.KEEP, said::add);
        assertEquals(made, Files.getLastModifiedTime(file));
        assertTrue(said.getLast().contains("complete"));
        Files.delete(file);
        assertFalse(SyntheticEra5.isComplete(CONFIG, directory));
        SyntheticEra5.write(CONFIG, directory, Existing.KEEP, said::add);
        assertTrue(SyntheticEra5.isComplete(CONFIG, directory));
    }

    /** As two trainings that are started at once. */
    @Test
    void twoThatMakeTheSameDataMakeThemOnce(@TempDir Path shared) throws Exception {
        SyntheticConfig small = new SyntheticConfig(HEIGHT, WIDTH, 1, 1, 0, 8, 3);
        List<String> lines = new CopyOnWriteArrayList<>();
        Callable<Void> make = () -> {
            SyntheticEra5.write(small, shared, Existing.KEEP, lines::add);
            return null;
        };
        try (ExecutorService threads = Executors.newFixedThreadPool(2)) {
            for (Future<Void> made : threads.invokeAll(List.of(make, make))) {
                made.get();
            }
        }
        assertTrue(SyntheticEra5.isComplete(small, shared));
        assertEquals(1, lines.stream().filter(line -> line.startsWith("Making synthetic data")).count(),
            lines::toString);
    }

    @Test
    void replacesOtherSyntheticDataOnlyOnRequest() {
        SyntheticConfig smaller = new SyntheticConfig(HEIGHT, WIDTH, 1, 1, 0, 8, 3);
        String message = assertThrows(UserException.class,
            () -> SyntheticEra5.write(smaller, directory, Existing.KEEP, said::add)).getMessage();
        assertTrue(message.contains("--force"), message);
        assertTrue(SyntheticEra5.isComplete(CONFIG, directory));
        SyntheticEra5.write(smaller, directory, Existing.REPLACE, said::add);
        assertTrue(SyntheticEra5.isComplete(smaller, directory));
        assertFalse(Files.exists(directory.resolve("train/1980.h5")));
        assertFalse(Files.exists(directory.resolve("test/1982.h5")));
    }

    @Test
    void replacesTheFilesOfAnInterruptedRun() throws IOException {
        Path torn = Files.writeString(directory.resolve("test/1982.h5.0123456789abcdef.tmp"), "half a year");
        SyntheticConfig smaller = new SyntheticConfig(HEIGHT, WIDTH, 1, 1, 0, 8, 3);
        new SyntheticManifest(false, CONFIG, List.of()).write(directory);
        SyntheticEra5.write(smaller, directory, Existing.KEEP, said::add);
        assertFalse(Files.exists(torn));
        assertTrue(SyntheticEra5.isComplete(smaller, directory));
    }

    @Test
    void neverTouchesDataThatIsNotSynthetic() throws IOException {
        Path real = Files.createDirectories(directory.resolve("real/train")).resolve("1979.h5");
        Files.writeString(real, "ERA5");
        String message = assertThrows(UserException.class,
            () -> SyntheticEra5.write(CONFIG, directory.resolve("real"), Existing.REPLACE, said::add)).getMessage();
        assertTrue(message.contains(real.toString()), message);
        assertEquals("ERA5", Files.readString(real));
    }

    /** Sums and products of sizes must not overflow, or the check of the disk's room would pass. */
    @Test
    void refusesMoreThanCanBeCounted() {
        for (int[] sizes : new int[][] {{Integer.MAX_VALUE, 1, 0, 8}, {998, 1, 1, Integer.MAX_VALUE}}) {
            String message = assertThrows(UserException.class,
                () -> new SyntheticConfig(4096, 4096, sizes[0], sizes[1], sizes[2], sizes[3], 0)).getMessage();
            assertTrue(message.contains("but must be at most"), message);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"null", "{}", "{\"complete\": true, \"config\": null, \"variables\": []}",
        "{\"complete\": true, \"variables\": [], \"config\": {\"height\": 8, \"width\": 16, \"trainYears\": 1, "
            + "\"validYears\": 1, \"testYears\": 0, \"samplesPerYear\": 4, \"seed\": 1}}"})
    void refusesAManifestThatLacksSomething(String json) throws IOException {
        Path manifest = directory.resolve("stats/synthetic.json");
        Files.writeString(manifest, json);
        String message = assertThrows(UserException.class,
            () -> SyntheticEra5.write(CONFIG, directory, Existing.KEEP, said::add)).getMessage();
        assertTrue(message.startsWith("Manifest " + manifest + " cannot be parsed"), message);
    }

    @Test
    void refusesADeviceAsManifest() throws IOException {
        Path manifest = directory.resolve("stats/synthetic.json");
        Files.delete(manifest);
        Files.createSymbolicLink(manifest, Path.of("/dev/zero"));
        String message = assertThrows(UserException.class,
            () -> SyntheticEra5.write(CONFIG, directory, Existing.KEEP, said::add)).getMessage();
        assertTrue(message.contains("not a regular file"), message);
    }

    @Test
    void refusesWhatDoesNotFitOnTheDisk() {
        SyntheticConfig vast = new SyntheticConfig(4096, 4096, 1000 - 2, 1, 1, 1_000_000, 0);
        Path target = directory.resolve("vast");
        String message = assertThrows(UserException.class,
            () -> SyntheticEra5.write(vast, target, Existing.KEEP, said::add)).getMessage();
        assertTrue(message.contains("GB free"), message);
    }
}
