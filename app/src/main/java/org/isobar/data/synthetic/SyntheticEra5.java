package org.isobar.data.synthetic;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import org.isobar.data.Era5Variable;
import org.isobar.data.NpyFile;
import org.isobar.fault.UserException;
import org.isobar.os.AtomicFile;
import org.isobar.os.FileFault;
import org.isobar.os.FreeSpace;
import org.isobar.tensor.DType;
import org.isobar.tensor.Shape;

/**
 * Writes a synthetic data set in the tutorial's layout: {@code train/YYYY.h5}, {@code valid/YYYY.h5},
 * {@code test/YYYY.h5} and the statistics of the training years in {@code stats}.
 */
public final class SyntheticEra5 {
    private static final int FIRST_YEAR = 1979;
    private static final List<String> SPLITS = List.of("train", "valid", "test");

    private SyntheticEra5() { }

    /** What to do with an existing synthetic data set of another configuration. */
    public enum Existing {
        /** Keep it and fail. */
        KEEP,
        /** Delete it first. */
        REPLACE
    }

    /** Whether the complete data set of this configuration exists in a directory. */
    public static boolean isComplete(SyntheticConfig config, Path directory) {
        return SyntheticManifest.read(directory)
            .filter(manifest -> manifest.complete() && manifest.config().equals(config)).isPresent()
            && files(config, directory).keySet().stream().allMatch(Files::exists);
    }

    /**
     * Writes a data set; does nothing if it exists already. Waits for another process that makes data there.
     *
     * @param progress receives the lines of a progress report
     * @throws UserException if the directory has other data, the disk is too small or a file cannot be written
     */
    public static void write(SyntheticConfig config, Path directory, Existing existing, Consumer<String> progress) {
        if (!isComplete(config, directory)) {
            replaced(config, directory, existing); // refuses before anything is written there
            try (SyntheticLock _ = SyntheticLock.take(directory, progress)) {
                if (!isComplete(config, directory)) {
                    make(config, directory, existing, progress);
                    return;
                }
            }
        }
        progress.accept("Synthetic data is complete at " + directory);
    }

    private static void make(SyntheticConfig config, Path directory, Existing existing, Consumer<String> progress) {
        replaced(config, directory, existing).forEach(SyntheticEra5::delete);
        Map<Path, Long> files = files(config, directory);
        long bytes = (long) files.size() * config.samplesPerYear() * Era5Variable.COUNT
            * config.height() * config.width() * Float.BYTES;
        checkSpace(directory, bytes);
        progress.accept(String.format(Locale.ROOT,
            "Making synthetic data at %s: %d years of %d frames of %d x %d x %d, %.2f GB",
            directory, files.size(), config.samplesPerYear(), Era5Variable.COUNT,
            config.height(), config.width(), bytes / 1e9));
        new SyntheticManifest(false, config, List.of()).write(directory);
        YearWriter writer = new YearWriter(config);
        FieldStatistics statistics = new FieldStatistics(config.height() * config.width());
        files.forEach((path, first) -> {
            boolean training = path.getParent().endsWith("train");
            writer.write(path, first, training ? statistics::add : frame -> { });
            progress.accept("  " + directory.relativize(path));
        });
        writeStatistics(config, directory, statistics);
        SyntheticManifest manifest = new SyntheticManifest(true, config, describe(statistics));
        manifest.write(directory);
        progress.accept(String.format(Locale.ROOT,
            "Noise floor of u10: %.4f (normalized RMSE of a perfect forecast)",
            manifest.variables().get(Era5Variable.U10.ordinal()).noiseFloor()));
    }

    /** The year files of a configuration in chronological order, each with the number of its first frame. */
    private static Map<Path, Long> files(SyntheticConfig config, Path directory) {
        int[] years = {config.trainYears(), config.validYears(), config.testYears()};
        Map<Path, Long> files = new LinkedHashMap<>();
        for (int split = 0; split < years.length; split++) {
            for (int i = 0; i < years[split]; i++) {
                Path path = directory.resolve(SPLITS.get(split)).resolve(FIRST_YEAR + files.size() + ".h5");
                files.put(path, (long) files.size() * config.samplesPerYear());
            }
        }
        return files;
    }

    /** The files of an existing synthetic set, if they may be replaced; fails if there is other data. */
    private static Set<Path> replaced(SyntheticConfig config, Path directory, Existing existing) {
        Optional<SyntheticManifest> made = SyntheticManifest.read(directory);
        made.ifPresent(old -> {
            if (old.complete() && !old.config().equals(config) && existing == Existing.KEEP) {
                throw new UserException("Directory " + directory + " has synthetic data of another configuration ("
                    + old.config() + "). Choose another directory with --data_dir, or replace it with "
                    + "./isobar synthesize --force.");
            }
        });
        Set<Path> own = made.map(old -> files(old.config(), directory).keySet()).orElse(Set.of());
        for (String split : SPLITS) {
            Path part = directory.resolve(split);
            try (Stream<Path> entries = Files.exists(part) ? Files.list(part) : Stream.empty()) {
                entries.filter(path -> path.toString().endsWith(".h5") && !own.contains(path)).findAny()
                    .ifPresent(path -> {
                        throw new UserException("File " + path + " is not synthetic data and is not overwritten. "
                            + "Choose another directory with --data_dir.");
                    });
            } catch (IOException failure) {
                throw FileFault.unreadable("data directory " + part, failure);
            }
        }
        return own;
    }

    private static void delete(Path path) {
        try {
            Files.deleteIfExists(path);
            if (Files.isDirectory(path.toAbsolutePath().getParent())) {
                AtomicFile.deleteTemporaries(path);
            }
        } catch (IOException failure) {
            throw FileFault.unwritable("data file " + path, "--data_dir", failure);
        }
    }

    private static void checkSpace(Path directory, long needed) {
        try {
            Files.createDirectories(directory);
            long free = FreeSpace.of(directory);
            if (free < needed) {
                throw new UserException(String.format(Locale.ROOT,
                    "Synthetic data at %s needs %.1f GB, but the disk has %.1f GB free. Make less data ",
                    directory, needed / 1e9, free / 1e9)
                    + "(--train_years, --samples_per_year, --height, --width), or set --data_dir to another disk.");
            }
        } catch (IOException failure) {
            throw FileFault.unwritable("data to " + directory, "--data_dir", failure);
        }
    }

    private static void writeStatistics(SyntheticConfig config, Path directory, FieldStatistics statistics) {
        Path stats = directory.resolve("stats");
        Shape perChannel = Shape.of(1, Era5Variable.COUNT, 1, 1);
        Shape perPoint = Shape.of(1, Era5Variable.COUNT, config.height(), config.width());
        new NpyFile(DType.F32, perChannel, statistics.means()).write(stats.resolve("global_means.npy"));
        new NpyFile(DType.F32, perChannel, statistics.deviations()).write(stats.resolve("global_stds.npy"));
        new NpyFile(DType.F32, perPoint, statistics.timeMeans()).write(stats.resolve("time_means.npy"));
    }

    private static List<SyntheticManifest.Channel> describe(FieldStatistics statistics) {
        double[] means = statistics.means();
        double[] deviations = statistics.deviations();
        return IntStream.range(0, Era5Variable.COUNT).mapToObj(c -> {
            Era5Variable variable = Era5Variable.values()[c];
            return new SyntheticManifest.Channel(variable.label(), variable.unit(), means[c], deviations[c],
                ObservationNoise.deviation(variable) / deviations[c]);
        }).toList();
    }
}
