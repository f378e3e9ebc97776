package org.isobar.data.convert;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.DeflaterOutputStream;

import io.jhdf.HdfFile;
import org.isobar.data.Era5Variable;
import org.isobar.train.RunOutputs;
import org.isobar.train.TinyRun;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Data that were made NetCDF or Zarr, and converted back, have the same bits as before, statistics included. A model
 * that is trained on them has the same losses and weights.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class ConvertedTrainingTest {
    private static final String[] SETTINGS = {"num_iters=12", "num_data_workers=0", "threads=1"};
    private static final List<String> NAMES = Stream.of(Era5Variable.values()).map(Era5Variable::label).toList();
    private static final int HEIGHT = 16;
    private static final int WIDTH = 32;
    private static final int POINTS = HEIGHT * WIDTH;
    private static final double[] LATITUDES = IntStream.range(0, HEIGHT).mapToDouble(j -> -90 + 12 * j).toArray();
    private static final double[] LONGITUDES = IntStream.range(0, WIDTH).mapToDouble(i -> -180 + 11.25 * i).toArray();

    @TempDir
    private static Path directory;
    private Path made;
    private RunOutputs expected;

    @BeforeAll
    void madeData() throws IOException {
        made = directory.resolve("made");
        TinyRun.synthesize(made);
        expected = RunOutputs.of(TinyRun.of(made, directory.resolve("logs"), SETTINGS).succeeded().directory());
    }

    @ParameterizedTest
    @ValueSource(strings = {"netcdf", "zarr"})
    void aModelIsTheSame(String format) throws IOException {
        Path sources = Files.createDirectory(directory.resolve(format));
        for (Path year : years()) {
            int first = Integer.parseInt(year.getFileName().toString().replace(".h5", ""));
            if (format.equals("zarr")) {
                zarr(sources.resolve(first + ".zarr"), first, fields(year));
            } else {
                netCdf(first, fields(year)).write(sources.resolve(first + ".nc"));
            }
        }
        Path table = Files.write(directory.resolve(format + ".txt"),
            NAMES.stream().map(name -> name + " - - " + name).toList());
        Path again = directory.resolve("again-" + format);
        ConversionRequest request = new ConversionRequest(List.of(sources.toString()), again.resolve("tiny"), NAMES,
            Optional.of(table), new TreeSet<>(), new TreeSet<>(List.of(1981)), 0, "", 1, "", true, false);
        try (Conversion conversion = Conversion.plan(request)) {
            conversion.run((done, total) -> { }, (path, frames, bytes, kept) -> { });
        }
        for (Path year : years()) {
            assertArrayEquals(fields(year), fields(again.resolve(made.relativize(year))));
        }
        for (String file : List.of("global_means.npy", "global_stds.npy", "time_means.npy")) {
            assertArrayEquals(Files.readAllBytes(made.resolve("tiny/stats/" + file)),
                Files.readAllBytes(again.resolve("tiny/stats/" + file)), file);
        }
        TinyRun run = TinyRun.of(again, again.resolve("logs"), SETTINGS).succeeded();
        expected.assertSameLossesAndWeights(RunOutputs.of(run.directory()), format);
    }

    private List<Path> years() {
        return Stream.of("train/1979.h5", "train/1980.h5", "valid/1981.h5")
            .map(file -> made.resolve("tiny").resolve(file)).toList();
    }

    private static float[] fields(Path path) {
        try (HdfFile file = new HdfFile(path)) {
            return (float[]) file.getDatasetByPath("fields").getDataFlat();
        }
    }

    /** A channel from south to north and from 180 degrees west on. */
    private static double[] values(float[] fields, int channel) {
        double[] values = new double[fields.length / NAMES.size()];
        for (int k = 0; k < values.length; k++) {
            int t = k / POINTS;
            int j = HEIGHT - 1 - k / WIDTH % HEIGHT;
            int i = (k + WIDTH / 2) % WIDTH;
            values[k] = fields[((t * NAMES.size() + channel) * HEIGHT + j) * WIDTH + i];
        }
        return values;
    }

    private static ClassicFile netCdf(int year, float[] fields) {
        ClassicFile file = ClassicFile.weather(fields.length / NAMES.size() / POINTS).without("t2m").without("z")
            .coordinate("lat", "degrees_north", LATITUDES).coordinate("lon", "degrees_east", LONGITUDES)
            .attribute("time", "units", "hours since " + year + "-01-01");
        for (int c = 0; c < NAMES.size(); c++) {
            file.variable(NAMES.get(c), "", "time lat lon", values(fields, c));
        }
        return file;
    }

    /** Writes a store of version 2, with a chunk for each time step. */
    private static void zarr(Path store, int year, float[] fields) throws IOException {
        int times = fields.length / NAMES.size() / POINTS;
        Files.createDirectories(store);
        Files.writeString(store.resolve(".zgroup"), "{\"zarr_format\": 2}");
        array(store.resolve("time"), "[\"time\"]", "hours since " + year + "-01-01", List.of(times), times,
            IntStream.range(0, times).mapToDouble(t -> 6 * t).toArray());
        array(store.resolve("lat"), "[\"lat\"]", "degrees_north", List.of(HEIGHT), HEIGHT, LATITUDES);
        array(store.resolve("lon"), "[\"lon\"]", "degrees_east", List.of(WIDTH), WIDTH, LONGITUDES);
        for (int c = 0; c < NAMES.size(); c++) {
            array(store.resolve(NAMES.get(c)), "[\"time\", \"lat\", \"lon\"]", "1", List.of(times, HEIGHT, WIDTH), 1,
                values(fields, c));
        }
    }

    /** Writes an array of doubles whose chunks have {@code rows} indexes of the first dimension. */
    private static void array(Path array, String dims, String units, List<Integer> shape, int rows, double[] values)
        throws IOException {
        Files.createDirectory(array);
        String chunks = shape.toString().replaceFirst("\\d+", Integer.toString(rows));
        Files.writeString(array.resolve(".zarray"), "{\"zarr_format\": 2, \"shape\": " + shape + ", \"chunks\": "
            + chunks + ", \"dtype\": \"<f8\", \"compressor\": {\"id\": \"zlib\", \"level\": 1}, \"fill_value\": null, "
            + "\"order\": \"C\", \"filters\": null}");
        Files.writeString(array.resolve(".zattrs"),
            "{\"_ARRAY_DIMENSIONS\": " + dims + ", \"units\": \"" + units + "\"}");
        int elements = values.length / shape.getFirst() * rows;
        for (int chunk = 0; chunk * elements < values.length; chunk++) {
            ByteBuffer bytes = ByteBuffer.allocate(elements * Double.BYTES).order(ByteOrder.LITTLE_ENDIAN);
            bytes.asDoubleBuffer().put(values, chunk * elements, elements);
            ByteArrayOutputStream deflated = new ByteArrayOutputStream();
            try (DeflaterOutputStream deflater = new DeflaterOutputStream(deflated)) {
                deflater.write(bytes.array());
            }
            Files.write(array.resolve(chunk + ".0".repeat(shape.size() - 1)), deflated.toByteArray());
        }
    }
}
