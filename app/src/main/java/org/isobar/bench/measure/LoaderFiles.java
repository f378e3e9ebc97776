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
 * One year of synthetic weather in three layouts: {@code contiguous/train}, {@code chunked} and {@code gzip}. The first
 * is written by this program, the others from it by {@code bench/loader_h5py.py}, a chunk for each field.
 *
 * @param directory where they lie
 * @param height    latitudes
 * @param width     longitudes
 * @param frames    of the year
 */
public record LoaderFiles(Path directory, int height, int width, int frames) {
    /** Names of the layouts. */
    public static final List<String> LAYOUTS = List.of("contiguous", "chunked", "gzip");
    private static final String CONTIGUOUS = LAYOUTS.getFirst();
    private static final int COMPRESSED_SAMPLES = 4; // that are read: they take long
    private static final Duration PATIENCE = Duration.ofSeconds(120);

    /** Files of the size that preset {@code base} reads: with a year for validation in the first layout 0.98 GB. */
    public static LoaderFiles ofBase(Path directory) {
        return new LoaderFiles(directory, 360, 720, 12);
    }

    /** Makes the first layout, if it is missing. */
    public void make(Consumer<String> progress) {
        SyntheticEra5.write(new SyntheticConfig(height, width, 1, 1, 0, frames, 1), directory.resolve(CONTIGUOUS),
            SyntheticEra5.Existing.KEEP, progress);
    }

    /** Makes the others of the first one by the Python script. */
    public void makeOthers(List<String> script, Consumer<String> progress) {
        List<String> command = new ArrayList<>(script);
        command.addAll(List.of("make", directory.toString()));
        CommandResult.run(PATIENCE, command).fault().ifPresent(fault -> progress.accept(
            "Chunked and compressed files could not be made: " + String.join(" ", command) + ": " + fault));
    }

    /** Whether all layouts are there. */
    public boolean complete() {
        return layouts().equals(LAYOUTS);
    }

    /** The layouts that are there. */
    List<String> layouts() {
        return LAYOUTS.stream().filter(layout -> Files.isDirectory(files(layout))).toList();
    }

    /** How the year is read in a layout. */
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
