package org.isobar.bench.measure;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.function.Consumer;

import org.isobar.data.DatasetConfig;
import org.isobar.data.Era5Variable;
import org.isobar.data.synthetic.SyntheticConfig;
import org.isobar.data.synthetic.SyntheticEra5;
import org.isobar.os.CommandResult;

/**
 * One year of synthetic data in three HDF5 layouts: {@code contiguous/train}, {@code chunked} and {@code gzip}. This
 * program writes the first; {@code bench/loader_h5py.py} converts it to the others, with one chunk per field.
 *
 * @param directory directory of all layouts
 * @param height    latitudes
 * @param width     longitudes
 * @param frames    times in the year
 */
public record LoaderFiles(Path directory, int height, int width, int frames) {
    /** Names of the layouts. */
    public static final List<String> LAYOUTS = List.of("contiguous", "chunked", "gzip");
    private static final String CONTIGUOUS = LAYOUTS.getFirst();
    private static final int COMPRESSED_SAMPLES = 4; // number that is read, because decompression is slow
    private static final Duration LIMIT = Duration.ofSeconds(120);

    /** Files with the image size of preset {@code base}: 0.98 GB in the first layout, with a validation year. */
    public static LoaderFiles ofBase(Path directory) {
        return new LoaderFiles(directory, 360, 720, 12);
    }

    /** Writes the contiguous layout unless it exists. */
    public void make(Consumer<String> progress) {
        SyntheticEra5.write(new SyntheticConfig(height, width, 1, 1, 0, frames, 1), directory.resolve(CONTIGUOUS),
            SyntheticEra5.Existing.KEEP, progress);
    }

    /** Converts the contiguous layout to the others with the Python script. */
    public void makeOthers(List<String> script, Consumer<String> progress) {
        List<String> command = new ArrayList<>(script);
        command.addAll(List.of("make", directory.toString()));
        CommandResult.run(LIMIT, command).fault().ifPresent(fault -> progress.accept(
            "Chunked and compressed files could not be made: " + String.join(" ", command) + ": " + fault));
    }

    /** Whether all layouts exist. */
    public boolean complete() {
        return layouts().equals(LAYOUTS);
    }

    /** The layouts that exist. */
    List<String> layouts() {
        return LAYOUTS.stream().filter(layout -> Files.isDirectory(files(layout))).toList();
    }

    /** Configuration of the dataset in a layout. */
    DatasetConfig dataset(String layout) {
        Path stats = directory.resolve(CONTIGUOUS).resolve("stats");
        return new DatasetConfig(files(layout), stats.resolve("global_means.npy"), stats.resolve("global_stds.npy"),
            height, width, Era5Variable.COUNT, Era5Variable.COUNT, 1, layout.equals(LAYOUTS.getLast())
                ? OptionalLong.of(COMPRESSED_SAMPLES) : OptionalLong.empty());
    }

    /** Bytes of a sample: two frames. */
    long sampleBytes() {
        return 2L * Era5Variable.COUNT * height * width * Float.BYTES;
    }

    private Path files(String layout) {
        return layout.equals(CONTIGUOUS) ? directory.resolve(layout).resolve("train") : directory.resolve(layout);
    }
}
